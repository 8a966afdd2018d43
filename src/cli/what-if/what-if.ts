/** `lodestone what-if`: answers what happens to the workloads of a fleet before it happens. It writes nothing. */

import type { Answer } from '../../queries/what-if/ask.ts'
import { type Arguments, type Command, type CommandIo, painter } from '../command.ts'
import { readConfig } from '../options/read-config.ts'
import { OUTPUT_API_VERSION, renderData } from '../output.ts'
import { type FleetSource, openFleetSources } from './open-fleet.ts'
import { readOptions, WHAT_IF_OPTIONS, type WhatIfOptions } from './options.ts'
import { renderAnswer, renderTable } from './render.ts'
import { SuppositionError, suppose } from './suppose.ts'
import { tabulate } from './table.ts'

export const whatIf: Command = {
  name: 'what-if',
  summary: 'Answer what happens to workloads if a cluster is lost, data moves or manifests are applied',
  usage: 'SUPPOSITION… [--fail-if CONDITION] [-o FORMAT] [--folder DIR | --snapshot FILE… | --kubeconfig FILE]',
  options: WHAT_IF_OPTIONS,
  examples: [
    { command: 'lodestone what-if --cluster-lost member2 --kubeconfig karmada.config', does: 'The loss of a cluster' },
    {
      command: 'lodestone what-if --each-cluster-lost --kubeconfig karmada.config',
      does: 'The loss of each cluster, the worst first',
    },
    {
      command: 'lodestone what-if --data sales=member3 --folder examples/hub',
      does: 'Data that moves, in a folder of manifests',
    },
    {
      command: "lodestone what-if -f policy.yaml --kubeconfig karmada.config --fail-if 'stranded > 0'",
      does: 'In a pipeline: exit status 1 if a policy strands a workload',
    },
  ],
  run: runWhatIf,
}

/** Exit status: 0, 1 if a condition of `--fail-if` is true, 2 for invalid arguments. */
async function runWhatIf(args: Arguments, io: CommandIo): Promise<number> {
  const options = readOptions(args)
  const { sources, close } = await openFleetSources(args, io, readConfig(args, io))
  try {
    const replies = await askEach(options, sources, io)
    io.stdout.write(render(replies, options))
    const totals = replies.flatMap((reply) => reply.totals)
    const failed = options.conditions.filter(({ holds }) => totals.some(holds))
    for (const { text: condition } of failed) io.stderr.write(`lodestone what-if: ${condition}\n`)
    return failed.length > 0 ? 1 : 0
  } finally {
    await close()
  }
}

/** The answer about one hub. */
interface Reply {
  text: string
  /** The answer for programs, without its API version. */
  data: Readonly<Record<string, unknown>>
  /** Of the answer, or of each row of a table. */
  totals: Answer['totals'][]
}

/** With several snapshots, a name need not be known in each of them. Throws the error of the first one if it is known in none. */
async function askEach(options: WhatIfOptions, sources: readonly FleetSource[], io: CommandIo): Promise<Reply[]> {
  const replies: Reply[] = []
  let unknown: SuppositionError | undefined
  for (const source of sources) {
    try {
      replies.push(await ask(options, source, io))
    } catch (error) {
      if (!(error instanceof SuppositionError)) throw error
      unknown ??= error
    }
  }
  if (unknown && replies.length === 0) throw unknown
  return replies
}

async function ask(
  { question, showsAll }: WhatIfOptions,
  { file, fleet, context, notes }: FleetSource,
  io: CommandIo,
): Promise<Reply> {
  const hasPrices = fleet.present.matrix !== undefined
  const text = { showsAll, paint: painter(io.stdout, io.env), file, hasPrices }
  const of = file === undefined ? {} : { snapshot: file }
  if (question.each) {
    const table = await tabulate(question.each, fleet, context, progressOn(io))
    return {
      text: renderTable(table, notes, text),
      data: { kind: 'WhatIfTable', ...of, ...table, notes },
      totals: table.rows.map(({ totals }) => totals),
    }
  }
  const supposed = await suppose(question.suppositions, context)
  const answer = await fleet.ask(supposed, { signal: context.signal, transfers: true })
  const all = { sentences: supposed.sentences, notes: [...notes, ...supposed.notes] }
  return {
    text: renderAnswer(answer, all, text),
    data: { kind: 'WhatIf', ...of, ...all, ...answer },
    totals: [answer.totals],
  }
}

function render(replies: readonly Reply[], { format }: WhatIfOptions): string {
  if (format === 'text') return replies.map(({ text }) => text).join('\n')
  const [only, second] = replies.map(({ data }) => data)
  const data = second ? { kind: 'WhatIfList', items: replies.map((reply) => reply.data) } : only
  return renderData({ apiVersion: OUTPUT_API_VERSION, ...data }, format)
}

/** Shows the progress of a table at a terminal, in percent. */
function progressOn({ stderr }: CommandIo): (share: number) => void {
  let shown = 0
  return (share) => {
    const percent = Math.floor(share * 100)
    if (!stderr.isTTY || percent === shown) return
    shown = percent
    stderr.write(`\r${percent} % answered${percent === 100 ? '\n' : ''}`)
  }
}
