/** `lodestone explain`: explains the placement of a workload, from its claims to its binding. */
import { dataSources } from '../../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import { clusterResourceBindings, type ResourceBinding, resourceBindings } from '../../api/karmada.ts'
import { objectKey } from '../../api/meta.ts'
import { loadConfig } from '../../app/config.ts'
import { workloadKindsOf } from '../../app/workload-kinds-config.ts'
import { claimsOfSource } from '../../queries/source.ts'
import type { ObjectStore } from '../../store/store.ts'
import { type Arguments, type Command, type CommandIo, HELP_OPTION, painter, UsageError } from '../command.ts'
import { readTarget } from '../kinds.ts'
import { openSource, SOURCE_OPTIONS } from '../open-source.ts'
import { drawTree } from './tree.ts'
import { explainWorkload, type Workload } from './workload.ts'

export const explain: Command = {
  name: 'explain',
  summary: 'Explain the placement of a workload: claims, sources, clusters, binding',
  usage: 'KIND/NAME [-n NAMESPACE] [--folder DIR | --kubeconfig FILE]',
  options: {
    namespace: { type: 'string', short: 'n', value: 'NAMESPACE', description: 'The namespace (default: default)' },
    ...SOURCE_OPTIONS,
    ...HELP_OPTION,
  },
  positionals: true,
  examples: [
    { command: 'lodestone explain deployment/trainer -n demo --folder examples/hub', does: 'A workload in a folder' },
    {
      command: 'lodestone explain dsc/orders -n demo --kubeconfig karmada.config',
      does: 'The effect of a claim, on a hub',
    },
    {
      command: 'lodestone explain RayJob.ray.io/train -n demo --kubeconfig karmada.config',
      does: 'A custom kind',
    },
  ],
  run: runExplain,
}

async function runExplain(args: Arguments, io: CommandIo): Promise<number> {
  const [word, ...more] = args.positionals
  if (word === undefined || more.length > 0)
    throw new UsageError("expected one argument KIND/NAME\nSee 'lodestone explain --help'.")
  const target = readTarget(word)
  const namespace = target.namespaced ? (args.text('namespace') ?? 'default') : undefined
  const config = loadConfig(args.text('config'))
  const kinds = workloadKindsOf(config)
  // Bindings are read one by one: a hub has 100,000 of them, and one is needed.
  const { store, close } = await openSource('explain', args, io, { bindings: false, workloads: kinds })
  try {
    const workloads = await workloadsOf(target, namespace, store)
    if (workloads.length === 0) {
      io.stderr.write(
        `lodestone explain: ${target.kind} ${objectKey(namespace, target.name)} does not exist or is not used\n`,
      )
      return 1
    }
    const paint = painter(io.stdout, io.env)
    for (const workload of workloads) {
      const [title = '', ...lines] = drawTree(
        await explainWorkload(workload, store, io.now(), { kinds, scope: config.claims.clusterScoped }),
      )
      io.stdout.write(`${paint('bold', title)}\n${lines.map((line) => `${line}\n`).join('')}`)
    }
    return 0
  } finally {
    await close()
  }
}

/** The workloads of a target: the target itself, or the workloads of a claim, a source or a binding. */
async function workloadsOf(
  target: ReturnType<typeof readTarget>,
  namespace: string | undefined,
  store: ObjectStore,
): Promise<Workload[]> {
  const { group, kind, name } = target
  switch (kind) {
    case dataSourceClaims.kind: {
      const claim = store.get(dataSourceClaims, namespace, name)
      return claim ? [workloadOf(claim)] : []
    }
    case dataSources.kind: {
      const source = store.get(dataSources, undefined, name)
      return source ? claimsOfSource(source, store).map(workloadOf) : []
    }
    case resourceBindings.kind:
    case clusterResourceBindings.kind: {
      const type = kind === resourceBindings.kind ? resourceBindings : clusterResourceBindings
      const binding = await store.read<ResourceBinding>(type, namespace, name)
      return binding ? [binding.spec.resource] : []
    }
    default:
      return [{ apiVersion: group === '' ? 'v1' : `${group}/v1`, kind, name, ...(namespace && { namespace }) }]
  }
}

function workloadOf({ metadata, spec }: DataSourceClaim): Workload {
  const namespace = spec.workload.namespace ?? metadata.namespace
  return { ...spec.workload, ...(namespace && { namespace }) }
}
