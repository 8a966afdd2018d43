/** `lodestone what-if`: answers what happens to the workloads of a fleet before it happens. It writes nothing. */
import { type Arguments, type Command, type CommandIo, painter } from '../command.ts'
import { readConfig } from '../options/read-config.ts'
import { OUTPUT_API_VERSION, renderData } from '../output.ts'
import { type OpenFleet, openFleetSource } from './open-fleet.ts'
import { readOptions, WHAT_IF_OPTIONS, type WhatIfOptions } from './options.ts'
import { renderAnswer, renderTable } from './render.ts'
import { suppose } from './suppose.ts'
import { tabulate } from './table.ts'

export const whatIf: Command = {
  name: 'what-if',
  summary: 'Answer what happens to workloads if a cluster is lost, data moves or manifests are applied',
  usage: 'SUPPOSITION… [--fail-if CONDITION] [-o FORMAT] [--folder DIR | --kubeconfig FILE]',
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
  const open = await openFleetSource(args, io, readConfig(args, io))
  try {
    const { text, totals } = await answer(options, open, io)
    io.stdout.write(text)
    const failed = options.conditions.filter(({ holds }) => totals.some(holds))
    for (const { text: condition } of failed) io.stderr.write(`lodestone what-if: ${condition}\n`)
    return failed.length > 0 ? 1 : 0
  } finally {
    await open.close()
  }
}

async function answer(
  { question, format, showsAll }: WhatIfOptions,
  { fleet, context, notes }: OpenFleet,
  io: CommandIo,
) {
  const text = { showsAll, paint: painter(io.stdout, io.env) }
  const data = (kind: string, content: object) =>
    renderData({ apiVersion: OUTPUT_API_VERSION, kind, ...content }, format === 'yaml' ? 'yaml' : 'json')
  if (question.each) {
    const table = await tabulate(question.each, fleet, context, progressOn(io))
    return {
      text: format === 'text' ? renderTable(table, notes, text) : data('WhatIfTable', { ...table, notes }),
      totals: table.rows.map(({ totals }) => totals),
    }
  }
  const supposed = await suppose(question.suppositions, context)
  const answered = fleet.ask(supposed.store, supposed.changes)
  const all = { sentences: supposed.sentences, notes: [...notes, ...supposed.notes] }
  return {
    text: format === 'text' ? renderAnswer(answered, all, text) : data('WhatIf', { ...all, ...answered }),
    totals: [answered.totals],
  }
}

/** In answers: a line of progress at a terminal. */
const PROGRESS_EVERY = 50

function progressOn({ stderr }: CommandIo): (done: number, all: number) => void {
  return (done, all) => {
    if (stderr.isTTY && (done % PROGRESS_EVERY === 0 || done === all))
      stderr.write(`\r${done} of ${all} answered${done === all ? '\n' : ''}`)
  }
}
