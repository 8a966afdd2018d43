/** Answers what happens to workloads before it happens: suppositions, their effects with the reasons, and tables of single losses. */
import { useEffect, useState } from 'preact/hooks'
import { formatBytes } from '../base/quantity.ts'
import { formatAge } from '../base/time/duration.ts'
import type { WhatIfAnswer, WhatIfQuestion, WhatIfTable } from '../cli/ui/questions/what-if.ts'
import { fetchWhatIf } from './api.ts'
import { ObjectLink, Problem, State, Table, type Tone } from './parts.tsx'
import { changeQuery } from './route.ts'
import { useList } from './use-list.ts'
import type { ViewInput } from './view-input.ts'

type Change = WhatIfAnswer['changes'][number]
type Effect = Change['effect']
type Answer = ({ kind: 'WhatIf' } & WhatIfAnswer) | ({ kind: 'WhatIfTable' } & WhatIfTable)

const EFFECTS: Readonly<Record<Effect, { words: string; tone: Tone }>> = {
  stranded: { words: 'stranded', tone: 'failed' },
  waits: { words: 'waits', tone: 'waiting' },
  moves: { words: 'moves', tone: 'waiting' },
  loses: { words: 'loses a copy', tone: 'waiting' },
  removed: { words: 'removed', tone: 'none' },
  comesHome: { words: 'comes home', tone: 'fine' },
  released: { words: 'released', tone: 'fine' },
  gains: { words: 'gets copies', tone: 'fine' },
  placed: { words: 'placed', tone: 'fine' },
  stays: { words: 'stays', tone: 'none' },
}
const NAMES = Object.keys(EFFECTS) as Effect[]
const PASTED = 'pasted.yaml'

interface Fields {
  lost: string
  tainted: string
  taint: string
  source: string
  clusters: string
  text: string
}

const EMPTY: Fields = { lost: '', tainted: '', taint: '', source: '', clusters: '', text: '' }

/** What was asked and answered stays while the reader looks at another view. */
const kept: { fields: Fields; answer?: Answer | undefined; asked?: string } = { fields: EMPTY }

export function WhatIf({ query, version }: ViewInput) {
  const [fields, setFields] = useState(kept.fields)
  const [answer, setAnswer] = useState(kept.answer)
  const [problem, setProblem] = useState<string>()
  const [isAsking, setAsking] = useState(false)
  Object.assign(kept, { fields, answer })
  const { data: clusters } = useList('clusters', LISTED, version('clusters'))
  const { data: sources } = useList('sources', LISTED, version('sources'))
  const { namespace, lost } = query

  const ask = async (question: WhatIfQuestion) => {
    setAsking(true)
    setProblem(undefined)
    await fetchWhatIf<Answer>({ ...question, ...(namespace && { namespace }) }).then(setAnswer, (error: Error) =>
      setProblem(error.message),
    )
    setAsking(false)
  }
  // A row of the table leads here.
  useEffect(() => {
    if (!lost || kept.asked === lost) return
    kept.asked = lost
    setFields({ ...EMPTY, lost })
    void ask({ clusterLost: [lost] })
  }, [lost])
  const field = (name: keyof Fields, label: string, list?: string, placeholder?: string) => (
    <label>
      {label}{' '}
      <input
        list={list}
        placeholder={placeholder}
        value={fields[name]}
        onInput={(event) => setFields({ ...fields, [name]: event.currentTarget.value })}
      />
    </label>
  )
  const askEach = (each: WhatIfTable['each']) => () => void ask({ each })
  return (
    <>
      <form
        class="check suppositions"
        onSubmit={(event) => {
          event.preventDefault()
          kept.asked = ''
          changeQuery({ lost: undefined })
          void ask(buildQuestion(fields))
        }}
      >
        <p class="quiet">What is filled in holds together. Nothing is written.</p>
        <p>{field('lost', 'Lost cluster', 'clusters')}</p>
        <p>
          {field('tainted', 'Cluster with a taint', 'clusters')}{' '}
          {field('taint', 'Taint', undefined, 'key=value:NoExecute')}
        </p>
        <p>
          {field('source', 'DataSource that moves', 'sources')}{' '}
          {field('clusters', 'to clusters', 'clusters', 'member1, member3')}
        </p>
        <label for="manifests">Manifests that are applied</label>
        <textarea
          id="manifests"
          rows={4}
          spellcheck={false}
          value={fields.text}
          onInput={(event) => setFields({ ...fields, text: event.currentTarget.value })}
        />
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
      </form>
      <Problem what="The answer below" isOld={answer !== undefined} problem={problem} />
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

/** A wrong taint is left to the server, which says what is wrong. */
function buildQuestion({ lost, tainted, taint, source, clusters, text }: Fields): WhatIfQuestion {
  const [, key = taint, value, effect = ''] = /^([^=:]*)(?:=([^:]*))?:(.*)$/.exec(taint.trim()) ?? []
  const names = clusters.split(/[\s,]+/).filter(Boolean)
  return {
    ...(lost && { clusterLost: [lost] }),
    ...((tainted || taint) && {
      taints: [{ cluster: tainted, key, ...(value && { value }), effect: effect as 'NoExecute' }],
    }),
    ...((source || clusters) && { data: [{ source, clusters: names }] }),
    ...(text.trim() && { files: [{ file: PASTED, text }] }),
  }
}

function Effects({ answer: { sentences, workloads, totals, changes, more } }: { answer: WhatIfAnswer }) {
  const present = NAMES.filter((effect) => totals[effect].workloads > 0)
  return (
    <>
      <p class="large">What if {sentences.join(', and ')}?</p>
      {present.length === 0 && <p>Nothing changes for {countWorkloads(workloads)}.</p>}
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
                {change.next && ` Then: ${EFFECTS[change.next.effect].words} ${describeMove(change.next)}`}
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
  const { tone, words } = EFFECTS[effect]
  return <State tone={tone}>{words}</State>
}

function countWorkloads(workloads: number): string {
  return workloads === 1 ? '1 workload' : `${workloads} workloads`
}

/** What a transfer of the data costs, for the cheapest clusters to which the workload may go. Nothing for data that is there. */
function describeCosts({ transfer }: Change): string[] {
  const candidates = (transfer?.candidates ?? []).filter(({ transferBytes }) => transferBytes !== 0)
  return candidates.slice(0, CLUSTERS_SHOWN).map(({ cluster, transferBytes, isMinimum, money, currency, seconds }) => {
    const least = isMinimum ? 'at least ' : ''
    const amount = transferBytes === undefined ? 'an unknown amount' : `${least}${formatBytes(transferBytes)}`
    const price = money === undefined ? undefined : `${money.toFixed(2)} ${currency ?? ''}`.trim()
    const time = seconds === undefined ? undefined : formatAge(seconds * 1000)
    return [`${cluster}: ${amount} to transfer`, price, time].filter((part) => part !== undefined).join(', ')
  })
}

/** The most clusters that a row names. */
const CLUSTERS_SHOWN = 5

function describeMove({ from, to, takesAll, afterSeconds }: NonNullable<Change['next']>): string {
  const targets = `${to.length > 1 && !takesAll ? 'one of ' : ''}${joinNames(to)}`
  const later = afterSeconds > 0 ? `, after ${formatAge(afterSeconds * 1000)}` : ''
  return `${[joinNames(from), to.length > 0 ? `→ ${targets}` : ''].filter(Boolean).join(' ')}${later}`
}

function joinNames(names: readonly string[]): string {
  const more = names.length - CLUSTERS_SHOWN
  return `${names.slice(0, CLUSTERS_SHOWN).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function Losses({ table: { each, workloads, rows, more } }: { table: WhatIfTable }) {
  const present = NAMES.filter((effect) => rows.some(({ totals }) => totals[effect].workloads > 0))
  const isCluster = each === 'cluster'
  const titles = [isCluster ? 'Cluster' : 'Source', ...present.map((effect) => EFFECTS[effect].words)]
  return (
    <>
      <p class="large">
        What if {isCluster ? 'a cluster is lost' : 'the location of a source is out of date'}? (
        {countWorkloads(workloads)})
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
