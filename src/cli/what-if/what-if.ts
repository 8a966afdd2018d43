/** `lodestone what-if`: answers what happens to the workloads of a fleet before it happens. It writes nothing. */

import type { Answer } from '../../queries/what-if/ask.ts'
import { readManifests } from '../check/input/read-manifests.ts'
import { type Arguments, type Command, type CommandIo, painter } from '../command.ts'
import { readConfig } from '../options/read-config.ts'
import { OUTPUT_API_VERSION, renderData } from '../output.ts'
import { type FleetSource, openFleetSources } from './open-fleet.ts'
import {
  type GivenQuestion,
  type GivenSupposition,
  readOptions,
  type Supposition,
  WHAT_IF_OPTIONS,
  type WhatIfOptions,
} from './options.ts'
import { renderAnswer, renderTable } from './render.ts'
import { supposeKnown } from './suppose.ts'
import { type Supposed, SuppositionError, type UnknownNameError } from './supposed.ts'
import { tabulate } from './table.ts'

export const whatIf: Command = {
  usage: 'SUPPOSITION… [--fail-if CONDITION] [-o FORMAT] [--folder DIR | --snapshot FILE… | --kubeconfig FILE]',
  options: WHAT_IF_OPTIONS,
  examples: [
    { command: 'lodestone what-if --cluster-lost member2 --kubeconfig karmada.config', does: 'The loss of a cluster' },
    {
      command: 'lodestone what-if --each-cluster-lost --kubeconfig karmada.config',
      does: 'The loss of each cluster, the worst first',
    },
    {
      command: 'lodestone what-if --data prod.sales.orders=member3 --folder examples/hub',
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

/** A question to one hub. */
interface Asked {
  source: FleetSource
  supposed: Supposed
  unknown: ReadonlyMap<Supposition, UnknownNameError>
}

async function askEach(
  { question, showsAll }: WhatIfOptions,
  sources: readonly FleetSource[],
  io: CommandIo,
): Promise<Reply[]> {
  const replies: Reply[] = []
  if (question.each) {
    for (const source of sources) replies.push(await askTable(question.each, source, showsAll, io))
    return replies
  }
  const suppositions = await readGiven(question.suppositions, io.signal)
  for (const asked of await supposeEach(suppositions, sources))
    replies.push(await ask(asked, textSettings(asked.source, showsAll, io)))
  return replies
}

/** Reads the manifests of a question, once for all hubs: standard input and a pipe have their text once. */
async function readGiven(given: readonly GivenSupposition[], signal: AbortSignal): Promise<Supposition[]> {
  const read: Supposition[] = []
  for (const supposition of given) {
    if (supposition.kind === 'files') {
      const { files, onlyPolicies } = supposition
      read.push({ kind: 'applied', given: await readManifests(files, signal), from: files.join(', '), onlyPolicies })
    } else read.push(supposition)
  }
  return read
}

/**
 * Applies the suppositions to each hub. With several hubs, a name need not be known in each: a hub that knows none of the names has no answer.
 * Throws the error of the first hub for a name that none of them knows, and the error of any hub for what it rejects.
 */
async function supposeEach(suppositions: readonly Supposition[], sources: readonly FleetSource[]): Promise<Asked[]> {
  const asked: Asked[] = []
  for (const source of sources) {
    try {
      asked.push({ source, ...(await supposeKnown(suppositions, source.context)) })
    } catch (error) {
      if (!(error instanceof SuppositionError) || sources.length === 1) throw error
      throw new SuppositionError(`${source.file}: ${error.message}`)
    }
  }
  const [first] = asked
  for (const supposition of suppositions) {
    const error = first?.unknown.get(supposition)
    if (error && asked.every(({ unknown }) => unknown.has(supposition))) throw error
  }
  return asked.filter(({ unknown }) => unknown.size < suppositions.length)
}

async function ask({ source, supposed, unknown }: Asked, text: TextSettings): Promise<Reply> {
  const { file, fleet, context, notes } = source
  const answer = await fleet.ask(supposed, { signal: context.signal, transfers: true })
  const unknownNames = [...unknown.values()].map(({ message }) => message)
  const all = { sentences: [...supposed.sentences], notes: [...notes, ...supposed.notes, ...unknownNames] }
  return {
    text: renderAnswer(answer, all, text),
    data: { kind: 'WhatIf', ...snapshotOf(file), ...all, ...answer },
    totals: [answer.totals],
  }
}

async function askTable(
  each: NonNullable<GivenQuestion['each']>,
  source: FleetSource,
  showsAll: boolean,
  io: CommandIo,
): Promise<Reply> {
  const { file, fleet, context, notes } = source
  const table = await tabulate(each, fleet, context, progressOn(io))
  return {
    text: renderTable(table, notes, textSettings(source, showsAll, io)),
    data: { kind: 'WhatIfTable', ...snapshotOf(file), ...table, notes },
    totals: table.rows.map(({ totals }) => totals),
  }
}

type TextSettings = Parameters<typeof renderAnswer>[2]

function textSettings({ file, fleet }: FleetSource, showsAll: boolean, { stdout, env }: CommandIo): TextSettings {
  return { showsAll, paint: painter(stdout, env), file, hasPrices: fleet.present.matrix !== undefined }
}

function snapshotOf(file: string | undefined): { snapshot?: string } {
  return file === undefined ? {} : { snapshot: file }
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
