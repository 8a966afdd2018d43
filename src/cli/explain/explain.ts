/** `lodestone explain`: explains an object: the placement of a workload, and the objects that decide it. */
import { loadConfig } from '../../app/config/config.ts'
import { configuredWorkloadKinds } from '../../app/config/workload-kinds-config.ts'
import { printable } from '../../base/printable.ts'
import { type Arguments, type Command, type CommandIo, type Paint, painter } from '../command.ts'
import { readTarget } from '../kinds.ts'
import { openSource, SOURCE_OPTIONS } from '../open-source.ts'
import { KARMADA_VERSION_OPTION, karmadaRulesOf } from '../options/karmada-version.ts'
import { namespaceOption, readNamespace } from '../options/namespace.ts'
import { OUTPUT_API_VERSION, OUTPUT_FORMATS, OUTPUT_OPTION, readFormat, renderData } from '../output.ts'
import { explainNamed, kindsToExplain, mayHaveNamespace, objectsPlace } from './explain-named.ts'
import type { Context } from './target.ts'
import { drawTree, type TreeNode, treeData } from './tree.ts'

export const explain: Command = {
  usage: 'KIND/NAME [-n NAMESPACE] [-o text|wide|json|yaml] [--folder DIR | --kubeconfig FILE]',
  options: {
    ...namespaceOption('The namespace (default: that of the context)'),
    ...OUTPUT_OPTION,
    ...SOURCE_OPTIONS,
    ...KARMADA_VERSION_OPTION,
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
  const { store, isMember, isHub, karmadaRules, close } = await openSource('explain', args, io, {
    kinds: kindsToExplain(kind, kinds),
    workloads: kinds,
    mayBeMember: true,
    fallbackNamespace: mayHaveNamespace(kind, kinds) ? namespace : undefined,
  })
  try {
    const folder = args.text('folder')
    const context: Context = {
      store,
      now: io.now(),
      kinds,
      config,
      karmadaRules: karmadaRulesOf(args, config, karmadaRules),
      isMember,
      isHub,
      isFolder: folder !== undefined,
      place: objectsPlace(folder, isMember),
    }
    const { tree, problem } = await explainNamed({ kind, namespace, name }, context)
    if (tree) io.stdout.write(render(tree, format, painter(io.stdout, io.env)))
    else io.stderr.write(`lodestone explain: ${printable(problem)}\n`)
    return tree ? 0 : 1
  } finally {
    await close()
  }
}

function render(tree: TreeNode, format: (typeof OUTPUT_FORMATS)[number], paint: Paint): string {
  if (format === 'json' || format === 'yaml') {
    return renderData({ apiVersion: OUTPUT_API_VERSION, kind: 'Explanation', object: treeData(tree) }, format)
  }
  const [title = '', ...lines] = drawTree(tree, format === 'wide')
  return [paint('bold', title), ...lines].map((line) => `${line}\n`).join('')
}
