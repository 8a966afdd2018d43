/** `lodestone check`: shows the decision of admission for manifests, and changes nothing. */
import type { Config } from '../../app/config/config.ts'
import { systemsSource } from '../../app/config/systems-config.ts'
import { configuredWorkloadKinds } from '../../app/config/workload-kinds-config.ts'
import { allExcludedNamespaces } from '../../app/registration.ts'
import { defined } from '../../base/json.ts'
import { inspectSystems } from '../../locality/config/inspect.ts'
import { allKinds } from '../../store/kinds/cached-kinds.ts'
import { type Arguments, type Command, type CommandIo, painter } from '../command.ts'
import { karmadaRulesOf } from '../karmada-version.ts'
import { contextNamespace } from '../namespace.ts'
import { openFolder } from '../open-folder.ts'
import { readConfig } from '../read-config.ts'
import { scopesOf } from '../scope.ts'
import { diagnose } from './findings/diagnose.ts'
import { type Finding, finding } from './findings/findings.ts'
import type { KnownSystems } from './findings/holds.ts'
import { copyHub } from './hub/read-hub.ts'
import { placeManifests } from './input/place-manifests.ts'
import { readManifests } from './input/read-manifests.ts'
import { CHECK_OPTIONS, type CheckOptions, readOptions } from './options.ts'
import { FORMATS } from './render/formats.ts'
import { describeFinding } from './render/text.ts'
import { hasFailed, type Report } from './report.ts'
import { countEffects } from './review/effect.ts'
import type { ReviewContext } from './review/review-object.ts'
import { reviewObjects, withoutDecision } from './review/review-objects.ts'
import { claimsToLocate, clustersAround, locateData } from './systems/locate-data.ts'

export const check: Command = {
  name: 'check',
  summary: 'Show what admission would do to manifests, and change nothing',
  usage: '-f FILE… [--folder DIR | --kubeconfig FILE] [-n NAMESPACE] [--config FILE] [--fail-on LEVEL] [-o FORMAT]',
  options: CHECK_OPTIONS,
  positionals: true,
  examples: [
    {
      command: 'lodestone check -f workload.yaml --folder examples/hub',
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
  const { claims, dependencies, volumes } = config
  const workloads = configuredWorkloadKinds(config)
  const types = allKinds(workloads).map(({ type }) => type)
  const { manifests, problems, systems } = await readManifests(options.files, io.signal)
  const namespace = options.namespace ?? (options.hasHub ? await contextNamespace(args, io) : undefined)
  const store = openFolder(options.folder, {
    watch: false,
    workloads,
    observer: { fileError: ({ message, ...place }) => problems.push(finding('invalid-manifest', message, place)) },
  })
  try {
    await store.start(io.signal)
    const isEmpty = options.folder !== undefined && store.objects().length === 0 && problems.length === 0
    const objects = [...manifests, ...store.objects()].map(({ object }) => object)
    const { placed, findings } = placeManifests(manifests, scopesOf(types, objects), namespace)
    problems.push(...findings.filter(({ id }) => id === 'invalid-manifest'))
    // A pipeline without any manifest must not look like one with valid manifests.
    if (placed.length === 0 && problems.length === 0 && systems.findings.length === 0)
      problems.push(finding('no-manifest', `no manifest in ${options.files.join(', ')}`, {}))
    const context: ReviewContext = {
      store,
      workloads,
      now: io.now(),
      propagateDeps: dependencies.propagate,
      clusterScopedClaims: claims.clusterScoped,
      karmadaRules: karmadaRulesOf(args, config),
      whenNotReady: volumes.whenNotReady,
      volumeLimits: volumes,
      excludedNamespaces: allExcludedNamespaces(config),
      hasHub: options.hasHub,
    }
    const hub = options.hasHub ? await copyHub(placed, context, config, args, io) : undefined
    const located = await locateData({
      store,
      source: systemsSource(config.systems, store),
      claims: claimsToLocate(placed, store),
      clusters: clustersAround(placed, store),
      queriesNetwork: options.queriesSystems,
      signal: io.signal,
      now: context.now,
    })
    const decided = await reviewObjects(placed, context, hub?.concerned)
    const reviews = problems.length > 0 ? decided.map(withoutDecision) : decided
    const found = diagnose(reviews, context, await knownSystems(config, context))
    const others: Finding[] = [
      ...(isEmpty ? [finding('empty-folder', `no manifest in ${options.folder}; check the path of --folder`, {})] : []),
      ...findings.filter(({ id }) => id !== 'invalid-manifest'),
    ]
    return defined({
      reviews,
      findings: [...problems, ...systems.findings, ...located, ...others, ...found],
      failOn: options.failOn,
      hub: hub && { ...countEffects(reviews), notReviewed: hub.notReviewed },
    })
  } finally {
    await store.stop()
  }
}

/** The configured data systems: only with them, a hold for an unknown location can end. */
async function knownSystems({ systems }: Config, { store, hasHub }: ReviewContext): Promise<KnownSystems> {
  if (systems.configMap !== undefined) return 'unknown'
  const source = systemsSource(systems, store)
  // The server of the hub may have data systems of its own.
  if (!source && hasHub) return 'unknown'
  return new Set(source ? (await inspectSystems(source)).map(({ system }) => system) : [])
}
