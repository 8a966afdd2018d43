/** `lodestone explain`: explains an object: the placement of a workload, and the objects that decide it. */
import type { ResourceType } from '../../api/meta.ts'
import { loadConfig } from '../../app/config.ts'
import { workloadKindsOf } from '../../app/workload-kinds-config.ts'
import { type Arguments, type Command, type CommandIo, HELP_OPTION, painter } from '../command.ts'
import { kindOfManifest, kindsNamed, knownKinds, readTarget, selectedKinds, unknownKind } from '../kinds.ts'
import { openSource, SOURCE_OPTIONS } from '../open-source.ts'
import { describeMissing } from './missing.ts'
import { type Context, makeTarget } from './target.ts'
import { explainerOf } from './targets.ts'
import { drawTree } from './tree.ts'
import { workloadExplainer } from './workload.ts'

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
      command: 'lodestone explain rayjobs.ray.io/train -n demo --kubeconfig karmada.config',
      does: 'A custom kind',
    },
  ],
  run: runExplain,
}

async function runExplain(args: Arguments, io: CommandIo): Promise<number> {
  const { kind, name } = readTarget(args.positionals)
  const config = loadConfig(args.text('config'))
  const kinds = workloadKindsOf(config)
  const named = kindsNamed(kind, knownKinds(kinds))
  // Only policies and claims have the kinds that no table has. The explanation of a workload reads them.
  const explainers = named.length > 0 ? named.map(explainerOf) : [workloadExplainer]
  const cached = [...new Set(explainers.flatMap((explainer) => explainer.reads(kinds)))]
  const { store, close } = await openSource('explain', args, io, { kinds: cached, workloads: kinds })
  try {
    const folder = args.text('folder')
    const context: Context = {
      store,
      now: io.now(),
      kinds,
      scope: config.claims.clusterScoped,
      config,
      place: folder === undefined ? 'on this API server' : `in folder ${folder}`,
    }
    const types = named.length > 0 ? named : furtherKinds(kind, context)
    const targets = types.map((type) => makeTarget(type, args.text('namespace') ?? 'default', name))
    for (const target of targets) {
      const tree = await explainerOf(target.type).explain(target, context)
      if (!tree) continue
      const [title = '', ...lines] = drawTree(tree)
      io.stdout.write([painter(io.stdout, io.env)('bold', title), ...lines].map((line) => `${line}\n`).join(''))
      return 0
    }
    io.stderr.write(`lodestone explain: ${describeMissing(targets, context)}\n`)
    return 1
  } finally {
    await close()
  }
}

/** The kinds that a word means although no table has them. Throws `UsageError` if there is none. */
function furtherKinds(word: string, { store, kinds }: Context): ResourceType[] {
  const selected = selectedKinds(store)
  const named = kindsNamed(word, selected)
  if (named.length > 0) return named
  const given = kindOfManifest(word)
  if (!given) throw unknownKind(word, [...knownKinds(kinds), ...selected])
  return [given]
}
