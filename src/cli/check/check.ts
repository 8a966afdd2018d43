/** `lodestone check`: shows the decision of admission for manifests, and changes nothing. */
import { readFileSync, statSync } from 'node:fs'
import type { K8sObject } from '../../api/meta.ts'
import { loadConfig } from '../../app/config.ts'
import { workloadKindsOf } from '../../app/workload-kinds-config.ts'
import type { WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import type { FolderStore } from '../../store/folder/folder.ts'
import { parseManifests } from '../../store/folder/manifests.ts'
import { type Arguments, type Command, type CommandIo, HELP_OPTION, painter, UsageError } from '../command.ts'
import { openFolder } from '../open-folder.ts'
import { readFormat } from '../output.ts'
import { renderDiff, renderMachine, renderRefusal, renderReview } from './render.ts'
import { reviewObjects, withoutDecision } from './review.ts'

const FORMATS = ['text', 'diff', 'json', 'yaml'] as const

export const check: Command = {
  name: 'check',
  summary: 'Show what admission would do to manifests, and change nothing',
  usage: '-f FILE… [--folder DIR] [--config FILE] [-o text|diff|json|yaml]',
  options: {
    file: {
      type: 'string',
      short: 'f',
      multiple: true,
      value: 'FILE',
      description: 'Manifests to check: a file, a folder, or - for standard input',
    },
    folder: {
      type: 'string',
      value: 'DIR',
      description: 'Existing manifests: claims, sources, policies, clusters',
    },
    config: {
      type: 'string',
      short: 'c',
      value: 'FILE',
      description: 'Configuration file of the server',
    },
    output: {
      type: 'string',
      short: 'o',
      value: 'FORMAT',
      description: 'text (default), diff, json, or yaml (the objects as they would be stored)',
    },
    ...HELP_OPTION,
  },
  positionals: true,
  examples: [
    {
      command: 'lodestone check -f workload.yaml --folder examples/hub',
      does: 'Show where a workload would be placed',
    },
    {
      command: 'lodestone check -f manifests/ -o json',
      does: 'In a pipeline: exit status 1 if any object would be rejected',
    },
    { command: 'kustomize build . | lodestone check -f - --folder hub/', does: 'Check the output of another tool' },
  ],
  run: runCheck,
}

/** Exit status: 0 if all is allowed, 1 if an object is denied, invalid or not decided, 2 for invalid arguments. */
async function runCheck(args: Arguments, io: CommandIo): Promise<number> {
  const format = readFormat(args, FORMATS)
  const files = [...args.texts('file'), ...args.positionals]
  if (files.length === 0)
    throw new UsageError("missing -f FILE: a file, a folder, or - for standard input\nSee 'lodestone check --help'.")
  const config = loadConfig(args.text('config'))
  const { claims, dependencies, volumes } = config
  const workloads = workloadKindsOf(config)
  const mistakes: string[] = []
  const objects = await readObjects(files, workloads, mistakes)
  const store = await openContext(args.text('folder'), workloads, mistakes)
  try {
    for (const mistake of mistakes) io.stderr.write(`${mistake}\n`)
    if (objects.length === 0 && mistakes.length === 0) {
      // A pipeline without any manifest must not look like one with valid manifests.
      io.stderr.write(`lodestone check: no manifest in ${files.join(', ')}\n`)
      return 1
    }
    const decided = await reviewObjects(objects, {
      store,
      workloads,
      now: io.now(),
      propagateDeps: dependencies.propagate,
      clusterScopedClaims: claims.clusterScoped,
      whenNotReady: volumes.whenNotReady,
      volumeLimits: volumes,
    })
    const reviews = mistakes.length > 0 ? decided.map(withoutDecision) : decided
    const paint = painter(io.stdout, io.env)
    if (format === 'json' || format === 'yaml') io.stdout.write(renderMachine(reviews, format))
    else if (format === 'diff') {
      const diffs = reviews.map((review) => renderDiff(review, paint)).filter((diff) => diff !== '')
      io.stdout.write(diffs.map((diff) => `${diff}\n`).join('\n'))
    } else io.stdout.write(reviews.map((review) => renderReview(review, paint)).join(''))
    const refused = reviews.filter(({ outcome }) => outcome === 'denied' || outcome === 'unknown')
    // These two formats show objects. The reasons of the other objects go to standard error.
    if (format === 'diff' || format === 'yaml') for (const review of refused) io.stderr.write(renderRefusal(review))
    return mistakes.length > 0 || refused.length > 0 ? 1 : 0
  } finally {
    await store.stop()
  }
}

async function readObjects(files: string[], workloads: WorkloadKinds, mistakes: string[]): Promise<K8sObject[]> {
  const objects: K8sObject[] = []
  for (const file of files) {
    if (file !== '-' && isFolder(file)) {
      const store = await openContext(file, workloads, mistakes)
      objects.push(...store.objects().map(({ object }) => withoutVersion(object)))
      await store.stop()
      continue
    }
    const { manifests, errors } = parseManifests(readText(file), file === '-' ? '(standard input)' : file)
    objects.push(...manifests.map(({ object }) => object))
    mistakes.push(...errors.map(({ file: name, line, message }) => `${name}:${line}: ${message}`))
  }
  return objects
}

/** A folder store that is read once. Its errors are added to `mistakes`. */
async function openContext(
  directory: string | undefined,
  workloads: WorkloadKinds,
  mistakes: string[],
): Promise<FolderStore> {
  const store = openFolder(directory, {
    watch: false,
    workloads,
    observer: { fileError: ({ file, line, message }) => mistakes.push(`${file}${line ? `:${line}` : ''}: ${message}`) },
  })
  await store.start(new AbortController().signal)
  return store
}

/** Removes the resource version that the folder store added. */
function withoutVersion(object: K8sObject): K8sObject {
  const { resourceVersion: _made, ...metadata } = object.metadata
  return { ...object, metadata }
}

function isFolder(file: string): boolean {
  const found = statSync(file, { throwIfNoEntry: false })
  if (!found) throw new UsageError(`${file} does not exist`)
  return found.isDirectory()
}

function readText(file: string): string {
  return readFileSync(file === '-' ? 0 : file, 'utf8')
}
