/** `lodestone explain`: explains an object: the placement of a workload, and the objects that decide it. */
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { groupOf, type ResourceType } from '../../api/meta.ts'
import { loadConfig } from '../../app/config/config.ts'
import { configuredWorkloadKinds } from '../../app/config/workload-kinds-config.ts'
import { defined } from '../../base/json.ts'
import { printable } from '../../base/printable.ts'
import { suggest } from '../../base/suggest.ts'
import { kindKey } from '../../store/any-kind.ts'
import type { ObjectName } from '../../store/store.ts'
import { type Arguments, type Command, type CommandIo, HELP_OPTION, painter } from '../command.ts'
import { KARMADA_VERSION_OPTION, karmadaRulesOf } from '../karmada-version.ts'
import { kindOfManifest, kindsNamed, knownKinds, readTarget, selectedKinds, unknownKind } from '../kinds.ts'
import { readNamespace } from '../namespace.ts'
import { openSource, SOURCE_OPTIONS } from '../open-source.ts'
import { OUTPUT_API_VERSION, OUTPUT_FORMATS, OUTPUT_OPTION, readFormat, renderData } from '../output.ts'
import { type Context, makeTarget, referenceTitle, type Target } from './target.ts'
import { explainerOf } from './targets.ts'
import { drawTree, type TreeNode, treeData } from './tree.ts'
import { workloadExplainer, workloadOfClaim } from './workload.ts'

export const explain: Command = {
  name: 'explain',
  summary: 'Explain a workload, its data and its placement, or any object that decides them',
  usage: 'KIND/NAME [-n NAMESPACE] [-o text|wide|json|yaml] [--folder DIR | --kubeconfig FILE]',
  options: {
    namespace: {
      type: 'string',
      short: 'n',
      value: 'NAMESPACE',
      description: 'The namespace (default: that of the context)',
    },
    ...OUTPUT_OPTION,
    ...SOURCE_OPTIONS,
    ...KARMADA_VERSION_OPTION,
    ...HELP_OPTION,
  },
  positionals: true,
  arguments: 'object',
  examples: [
    { command: 'lodestone explain deployment/trainer -n demo --folder examples/hub', does: 'A workload in a folder' },
    {
      command: 'lodestone explain dsc/orders -n demo --kubeconfig karmada.config',
      does: 'The effect of a claim, on a hub',
    },
    {
      command: 'lodestone explain rayjobs.ray.io/train -n demo --kubeconfig karmada.config -o json',
      does: 'A custom kind, as data',
    },
    {
      command: 'lodestone explain pod/tuner -n demo --folder examples/member',
      does: 'Why a pod waits for its volumes',
    },
  ],
  run: runExplain,
}

async function runExplain(args: Arguments, io: CommandIo): Promise<number> {
  const { kind, name } = readTarget(args.positionals)
  const format = readFormat(args, OUTPUT_FORMATS)
  const namespace = await readNamespace(args, io)
  const config = loadConfig(args.text('config'))
  const kinds = configuredWorkloadKinds(config)
  const named = kindsNamed(kind, knownKinds(kinds))
  // Only policies and claims have the kinds that no table has. The explanation of a workload reads them.
  const explainers = named.length > 0 ? named.map((type) => explainerOf(type, kinds)) : [workloadExplainer]
  const cached = [...new Set(explainers.flatMap((explainer) => explainer.reads(kinds)))]
  const { store, isMember, isHub, karmadaRules, close } = await openSource('explain', args, io, {
    kinds: cached,
    workloads: kinds,
    mayBeMember: true,
  })
  try {
    const folder = args.text('folder')
    const context: Context = {
      store,
      now: io.now(),
      kinds,
      scope: config.claims.clusterScoped,
      config,
      karmadaRules: karmadaRulesOf(args, config, karmadaRules),
      isMember,
      isHub,
      place:
        folder !== undefined ? `in folder ${folder}` : `on this API server${isMember ? ', which is not a hub' : ''}`,
    }
    const types = named.length > 0 ? named : furtherKinds(kind, context)
    const targets = types.map((type) => makeTarget(type, namespace, name))
    for (const target of targets) {
      const tree = await explainerOf(target.type, kinds).explain(target, context)
      if (!tree) continue
      io.stdout.write(render(tree, format, painter(io.stdout, io.env)))
      return 0
    }
    io.stderr.write(`lodestone explain: ${printable(describeMissing(targets, context))}\n`)
    return 1
  } finally {
    await close()
  }
}

function render(tree: TreeNode, format: (typeof OUTPUT_FORMATS)[number], paint: ReturnType<typeof painter>): string {
  if (format === 'json' || format === 'yaml') {
    return renderData({ apiVersion: OUTPUT_API_VERSION, kind: 'Explanation', object: treeData(tree) }, format)
  }
  const [title = '', ...lines] = drawTree(tree, format === 'wide')
  return [paint('bold', title), ...lines].map((line) => `${line}\n`).join('')
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

/** Objects of a kind in one namespace that are compared. A folder or a hub may have more. */
const MAX_NAMES = 10_000

/**
 * Describes an object that does not exist: with a similar name, or the namespaces that have an object of this name.
 *
 * @param targets the kinds that the word may mean, in one namespace and with one name
 */
export function describeMissing(targets: readonly Target[], context: Context): string {
  const [{ namespace, name } = { name: '' }] = targets
  const titles = targets.map(({ type, namespace: own }) =>
    referenceTitle(defined({ kind: type.kind, namespace: own || undefined, name })),
  )
  const known = targets.flatMap(({ type }) => knownNames(type, context))
  const elsewhere = known.filter((each) => each.name === name && each.namespace && each.namespace !== namespace)
  const here = known.filter((each) => each.namespace === undefined || each.namespace === namespace)
  const [namespaceOfOther] = elsewhere.map((each) => each.namespace)
  const hint = namespaceOfOther
    ? `; it is in namespace ${namespaceOfOther}: add -n ${namespaceOfOther}`
    : suggest(
        name,
        here.slice(0, MAX_NAMES).map((each) => each.name),
      )
  return `${[...new Set(titles)].join(' and ')} not found ${context.place}${hint}`
}

/** The known names of a kind: of the cached objects, and those in claims. */
function knownNames(type: ResourceType, { store, kinds }: Context): ObjectName[] {
  const isCached = (each: ResourceType) => store.kinds().some((cached) => kindKey(cached) === kindKey(each))
  const objects = isCached(type) ? [...store.list(type)].map(({ metadata }) => metadata) : []
  const claims = isCached(dataSourceClaims) ? [...store.list(dataSourceClaims)] : []
  const claimed = claims.filter(
    ({ spec: { workload } }) => workload.kind === type.kind && groupOf(workload.apiVersion) === type.group,
  )
  return [
    ...objects.map(({ namespace, name = '' }) => ({ namespace, name })),
    ...claimed.map((claim) => workloadOfClaim(claim, kinds)),
  ]
}
