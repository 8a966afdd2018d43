/** `lodestone check`: shows the decision of admission for manifests, and changes nothing. */
import type { Config } from '../../app/config/config.ts'
import { configuredWorkloadKinds } from '../../app/config/workload-kinds-config.ts'
import { type Arguments, type Command, type CommandIo, painter } from '../command.ts'
import { openFolder } from '../open-folder.ts'
import { karmadaRulesOf } from '../options/karmada-version.ts'
import { contextNamespace } from '../options/namespace.ts'
import { readConfig } from '../options/read-config.ts'
import { type CheckInput, checkManifests } from './check-manifests.ts'
import { finding } from './findings/findings.ts'
import { copyHub } from './hub/read-hub.ts'
import { readManifests } from './input/read-manifests.ts'
import { CHECK_OPTIONS, type CheckOptions, readOptions } from './options.ts'
import { FORMATS } from './render/formats.ts'
import { describeFinding } from './render/text.ts'
import { hasFailed, type Report } from './report.ts'

export const check: Command = {
  usage: '-f FILE… [--folder DIR | --kubeconfig FILE] [-n NAMESPACE] [--config FILE] [--fail-on LEVEL] [-o FORMAT]',
  options: CHECK_OPTIONS,
  positionals: true,
  examples: [
    {
      command: 'lodestone check -f examples/hub/workload.yaml --folder examples/hub',
      does: 'Show where a workload would be placed',
    },
    {
      command: 'lodestone check -f claim.yaml --kubeconfig hub.kubeconfig',
      does: 'Show which workloads of a hub would move or wait',
    },
    {
      command: 'lodestone check -f manifests/ --fail-on warning',
      does: 'In a pipeline: exit status 1 for each finding that is not only information',
    },
    {
      command: 'helm template . | lodestone check -f - -n demo --folder hub/',
      does: 'Check the output of another tool',
    },
  ],
  run: runCheck,
}

/** Exit status: 0, 1 if a finding fails, 2 for invalid arguments. */
async function runCheck(args: Arguments, io: CommandIo): Promise<number> {
  const options = readOptions(args)
  const report = await makeReport(options, readConfig(args, io), args, io)
  const format = FORMATS[options.format]
  io.stdout.write(format.render(report, painter(io.stdout, io.env)))
  if ('hasNoFindings' in format) {
    const paint = painter(io.stderr, io.env)
    const shown = report.findings.filter(({ severity }) => severity !== 'info')
    io.stderr.write(shown.map((each) => `${describeFinding(each, paint)}\n`).join(''))
  }
  return hasFailed(report) ? 1 : 0
}

/** Reads and reviews the manifests. */
async function makeReport(options: CheckOptions, config: Config, args: Arguments, io: CommandIo): Promise<Report> {
  const { files, folder, hasHub, queriesSystems, failOn } = options
  const given = await readManifests(files, io.signal)
  const namespace = options.namespace ?? (hasHub ? await contextNamespace(args, io) : undefined)
  const store = openFolder(folder, {
    watch: false,
    workloads: configuredWorkloadKinds(config),
    observer: {
      fileError: ({ message, ...place }) => given.problems.push(finding('invalid-manifest', message, place)),
      error: ({ message, error }) =>
        given.problems.push(finding('invalid-manifest', `${message}: ${(error as Error).message}`, {})),
    },
  })
  const copy: NonNullable<CheckInput['copyHub']> = (placed, context) => copyHub(placed, context, config, args, io)
  try {
    await store.start(io.signal)
    return await checkManifests({
      given,
      from: files.join(', '),
      store,
      folder,
      config,
      namespace,
      queriesSystems,
      failOn,
      karmadaRules: karmadaRulesOf(args, config),
      now: io.now(),
      signal: io.signal,
      ...(hasHub && { copyHub: copy }),
    })
  } finally {
    await store.stop()
  }
}
