/** Answers what happens to workloads before it happens: suppositions, their effects with the reasons, and tables of single losses. */
import { useEffect, useState } from 'preact/hooks'
import { formatBytes, formatCount } from '../base/quantity.ts'
import { formatAge } from '../base/time/duration.ts'
import type { WhatIfQuestion } from '../cli/ui/questions/read-what-if.ts'
import type { WhatIfAnswer, WhatIfTable } from '../cli/ui/questions/what-if.ts'
import { EFFECT_WORDS } from '../core/what-if/effect-words.ts'
import { fetchWhatIf, MAX_MANIFEST_BYTES, type ProblemError } from './api.ts'
import { joinNames, NAMES_SHOWN } from './names.ts'
import { CommandLine, ObjectLink, Problem, State, Table, type Tone } from './parts.tsx'
import {
  addressParameters,
  buildQuestion,
  type CommandSettings,
  commandOf,
  fileOf,
  makeRow,
  placeProblem,
  type QuestionProblem,
  type QuestionRow,
  questionParameters,
  readAddress,
  sizeProblem,
} from './question.ts'
import { QuestionRows } from './question-form.tsx'
import { goTo, useRoute } from './route.ts'
import { ServerQuestion, useQuestion } from './server-question.ts'
import { useList } from './use-list.ts'
import type { ViewInput } from './view-input.ts'

type Change = WhatIfAnswer['changes'][number]
type Effect = Change['effect']
type Answer = ({ kind: 'WhatIf' } & WhatIfAnswer) | ({ kind: 'WhatIfTable' } & WhatIfTable)

const TONES: Readonly<Record<Effect, Tone>> = {
  stranded: 'failed',
  waits: 'waiting',
  moves: 'waiting',
  loses: 'waiting',
  removed: 'none',
  comesHome: 'fine',
  released: 'fine',
  gains: 'fine',
  placed: 'fine',
  stays: 'none',
}
const NAMES = Object.keys(EFFECT_WORDS) as Effect[]
const PROBLEM_ID = 'question-problem'

/** What was asked and answered stays while the reader looks at another view. */
const question = new ServerQuestion<Answer, QuestionProblem>()
const kept: {
  rows: QuestionRow[]
  /** The parameters of the last question that was asked; empty if they do not have it. */
  asked: string
} = { rows: [makeRow()], asked: '' }

export function WhatIf({ query, version, folder }: ViewInput) {
  const [rows, setRows] = useState(kept.rows)
  const { isAsking, answer, problem } = useQuestion(question)
  Object.assign(kept, { rows })
  const { path, query: address } = useRoute()
  const { namespace } = query

  const ask = (body: WhatIfQuestion, paths: readonly string[] = []) =>
    question.ask(
      (signal) => fetchWhatIf<Answer>({ ...body, ...(namespace && { namespace }) }, signal),
      ({ message, problems = [] }: Error & Partial<Pick<ProblemError, 'problems'>>) => {
        const placed = problems.map((each) => placeProblem(each, paths))
        const { row } = placed.find((each) => each.row !== undefined) ?? {}
        return { text: placed.map(({ text }) => text).join('; ') || message, ...(row !== undefined && { row }) }
      },
    )
  const askRows = (asked: readonly QuestionRow[]) => {
    const { question: body, paths } = buildQuestion(asked)
    const tooLarge = sizeProblem(asked, body, MAX_MANIFEST_BYTES)
    if (tooLarge) question.setProblem(tooLarge)
    else void ask(body, paths)
  }
  // A link has a question, and so has a row of the table.
  const linked = `${questionParameters(address)}`
  useEffect(() => {
    if (linked === '' || kept.asked === linked) return
    kept.asked = linked
    const read = readAddress(address)
    setRows(read.rows.length > 0 ? read.rows : [makeRow()])
    if (read.problem === undefined) askRows(read.rows)
    else question.setProblem({ text: read.problem })
  }, [linked])
  const submit = () => {
    const parameters = addressParameters(rows) ?? new URLSearchParams()
    kept.asked = `${parameters}`
    if (namespace) parameters.set('namespace', namespace)
    const next = parameters.size > 0 ? `${path}?${parameters}` : path
    goTo(next, { replace: kept.asked === linked })
    askRows(rows)
  }
  const askEach = (each: WhatIfTable['each']) => () => void ask({ each })
  return (
    <>
      <form
        class="check"
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
      >
        <p class="quiet">All changes hold together. Nothing is written.</p>
        <QuestionRows
          rows={rows}
          onRows={(next) => {
            // The problem is about the row with this number.
            if (next.length < rows.length) question.setProblem(undefined)
            setRows(next)
          }}
          invalidRow={problem?.row}
          problemId={PROBLEM_ID}
          namespace={namespace ?? 'default'}
        />
        <Names version={version} />
        <p class="actions">
          <button type="submit" disabled={isAsking}>
            {isAsking ? 'Asking…' : 'Ask'}
          </button>
          <button type="button" disabled={isAsking} onClick={askEach('cluster')}>
            The loss of each cluster
          </button>
          <button type="button" disabled={isAsking} onClick={askEach('source')}>
            Each source out of date
          </button>
        </p>
        <SameQuestion rows={rows} namespace={namespace} folder={folder} />
      </form>
      <div id={PROBLEM_ID}>
        <Problem what="The answer below" isOld={answer !== undefined} problem={problem?.text} />
      </div>
      {answer && (
        <section aria-label="Answer" aria-live="polite">
          {answer.kind === 'WhatIf' ? <Effects answer={answer} /> : <Losses table={answer} />}
          {answer.notes.map((note) => (
            <p class="quiet" key={note}>
              Note: {note}.
            </p>
          ))}
        </section>
      )}
    </>
  )
}

/** The most names that a list has. Others can be typed. */
const LISTED = { limit: '500' }

/** The names that the fields offer. */
function Names({ version }: Pick<ViewInput, 'version'>) {
  const { data: clusters } = useList('clusters', LISTED, version('clusters'))
  const { data: sources } = useList('sources', LISTED, version('sources'))
  return (
    <>
      <datalist id="clusters">
        {clusters?.items.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <datalist id="sources">
        {sources?.items.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  )
}

/** The question as a command, and whether the address is a link to it. */
function SameQuestion({ rows, ...settings }: { rows: readonly QuestionRow[] } & CommandSettings) {
  const command = commandOf(rows, settings)
  if (command === undefined) return null
  const files = rows.flatMap(({ kind }, i) => (kind === 'applied' ? [fileOf(i)] : []))
  return (
    <section class="same-question" aria-label="The same question as a command">
      <CommandLine command={command} />
      {files.length > 0 && <p class="quiet">Save the manifests as {files.join(', ')} before you run it.</p>}
      <p class="quiet">
        {addressParameters(rows)
          ? 'After Ask, the address of this view is a link to the question.'
          : 'A question with manifests, or with a long text, has no link.'}
      </p>
    </section>
  )
}

function Effects({ answer: { sentences, workloads, totals, changes, more } }: { answer: WhatIfAnswer }) {
  const present = NAMES.filter((effect) => totals[effect].workloads > 0)
  return (
    <>
      <p class="large">What if {sentences.join(', and ')}?</p>
      {present.length === 0 && <p>Nothing changes for {formatCount(workloads, 'workload')}.</p>}
      {present.length > 0 && (
        <Table label="Totals" titles={['Effect', 'Workloads', 'Data', 'Dependencies']}>
          {present.map((effect) => (
            <tr key={effect}>
              <th scope="row">
                <EffectState effect={effect} />
              </th>
              <td class="number">{totals[effect].workloads}</td>
              <td class="number">{totals[effect].bytes > 0 ? formatBytes(totals[effect].bytes) : ''}</td>
              <td class="number">{totals[effect].dependencies}</td>
            </tr>
          ))}
        </Table>
      )}
      {changes.length > 0 && (
        <Table label="Workloads" titles={['Workload now', 'Then', 'Clusters', 'Why']}>
          {changes.map((change) => (
            <tr key={JSON.stringify(change.workload)} tabIndex={-1} data-row>
              <td>
                <ObjectLink object={change.workload} />
              </td>
              <td>
                <EffectState effect={change.effect} />
              </td>
              <td>{describeMove(change)}</td>
              <td>
                {change.reason}
                {change.next && ` Then: ${EFFECT_WORDS[change.next.effect]} ${describeMove(change.next)}`}
                {describeCosts(change).map((cost) => (
                  <div class="quiet">{cost}</div>
                ))}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {more > 0 && <p class="quiet">{more} more; lodestone what-if shows them</p>}
    </>
  )
}

function EffectState({ effect }: { effect: Effect }) {
  return <State tone={TONES[effect]}>{EFFECT_WORDS[effect]}</State>
}

/** What a transfer of the data costs, for the cheapest clusters to which the workload may go. Nothing for data that is there. */
function describeCosts({ transfer }: Change): string[] {
  const candidates = (transfer?.candidates ?? []).filter(({ transferBytes }) => transferBytes !== 0)
  return candidates.slice(0, NAMES_SHOWN).map(({ cluster, transferBytes, isMinimum, money, currency, seconds }) => {
    const least = isMinimum ? 'at least ' : ''
    const amount = transferBytes === undefined ? 'an unknown amount' : `${least}${formatBytes(transferBytes)}`
    const price = money === undefined ? undefined : `${money.toFixed(2)} ${currency ?? ''}`.trim()
    const time = seconds === undefined ? undefined : formatAge(seconds * 1000)
    return [`${cluster}: ${amount} to transfer`, price, time].filter((part) => part !== undefined).join(', ')
  })
}

function describeMove({ from, to, takesAll, afterSeconds }: NonNullable<Change['next']>): string {
  const targets = `${to.length > 1 && !takesAll ? 'one of ' : ''}${joinNames(to)}`
  const later = afterSeconds > 0 ? `, after ${formatAge(afterSeconds * 1000)}` : ''
  return `${[joinNames(from), to.length > 0 ? `→ ${targets}` : ''].filter(Boolean).join(' ')}${later}`
}

function Losses({ table: { each, workloads, rows, more } }: { table: WhatIfTable }) {
  const present = NAMES.filter((effect) => rows.some(({ totals }) => totals[effect].workloads > 0))
  const isCluster = each === 'cluster'
  const titles = [isCluster ? 'Cluster' : 'Source', ...present.map((effect) => EFFECT_WORDS[effect])]
  return (
    <>
      <p class="large">
        What if {isCluster ? 'a cluster is lost' : 'the location of a source is out of date'}? (
        {formatCount(workloads, 'workload')})
      </p>
      <Table label="Single losses" titles={isCluster ? [...titles, 'Data without a copy'] : titles}>
        {rows.map(({ name, totals, onlyCopy = [] }) => (
          <tr key={name} tabIndex={-1} data-row>
            <th scope="row">{isCluster ? <a href={`/what-if?lost=${encodeURIComponent(name)}`}>{name}</a> : name}</th>
            {present.map((effect) => (
              <td class="number" key={effect}>
                {totals[effect].workloads}
              </td>
            ))}
            {isCluster && <td>{joinNames(onlyCopy.map(({ source }) => source))}</td>}
          </tr>
        ))}
      </Table>
      {more > 0 && <p class="quiet">{more} more; lodestone what-if shows them</p>}
    </>
  )
}
