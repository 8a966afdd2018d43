/** The placement of a workload in four lines: the policy allows, the data is in, allowed, scheduled. */
import type { LocateAnswer, LocatedCluster } from '../cli/ui/questions/locate.ts'
import { compareNames } from './names.ts'
import { State, type Tone } from './parts.tsx'
import { WORKLOAD_STATES } from './workloads.tsx'

interface Step {
  title: string
  clusters: readonly string[]
  /** What falls away in this step, by the reason. */
  fallen: ReadonlyMap<string, readonly string[]>
  /** What is said about the step itself. */
  note?: { tone: Tone; text: string } | undefined
}

const DECISIONS: Readonly<Record<string, { tone: Tone; words: string }>> = {
  ...WORKLOAD_STATES,
  Ignored: { tone: 'waiting', words: 'placed without its data' },
  Untouched: { tone: 'none', words: 'its policy alone places it' },
}

/** Nothing is shown for a workload without a policy or a binding. */
export function Placement({ answer }: { answer: LocateAnswer }) {
  if (!answer.clusters.some(({ steps }) => steps)) return null
  return (
    <section>
      <h2>Placement</h2>
      <ol class="steps">
        {placementSteps(answer).map(({ title, clusters, fallen, note }) => (
          <li key={title}>
            <h3>
              {title} <span class="count">{clusters.length}</span>
            </h3>
            <div>
              {note && (
                <p>
                  <State tone={note.tone}>{note.text}</State>
                </p>
              )}
              {clusters.length > 0 && <Names names={clusters} />}
              {[...fallen].slice(0, REASONS_SHOWN).map(([reason, names]) => (
                <p key={reason}>
                  <Names names={names} isFallen />
                  <span class="reason">{reason}</span>
                </p>
              ))}
            </div>
          </li>
        ))}
      </ol>
    </section>
  )
}

const NAMES_SHOWN = 12
const REASONS_SHOWN = 4

function Names({ names, isFallen = false }: { names: readonly string[]; isFallen?: boolean }) {
  const shown = names.slice(0, NAMES_SHOWN)
  return (
    <>
      {shown.map((name) => (isFallen ? <del key={name}>{name}</del> : <span key={name}>{name}</span>))}
      {names.length > shown.length && (
        <span class="quiet" title={names.join(', ')}>
          and {names.length - shown.length} more
        </span>
      )}
    </>
  )
}

function placementSteps({ decision, claims, clusters: unsorted }: LocateAnswer): Step[] {
  const clusters = unsorted.toSorted((a, b) => compareNames(a.name, b.name))
  const { state = 'Untouched', message } = decision ?? {}
  const { tone, words } = DECISIONS[state] ?? { tone: 'waiting', words: state }
  const byPolicy = clusters.filter(({ steps }) => steps?.refusedBy.length === 0)
  const withData = byPolicy.filter(({ steps }) => steps?.data)
  const allowed = clusters.filter(({ steps }) => steps?.decision)
  const scheduled = clusters.filter(({ steps }) => steps?.scheduled)
  const isKept = allowed.some(({ steps }) => !steps?.data)
  return [
    { title: 'The policy allows', ...step(clusters, byPolicy, ({ steps }) => steps?.refusedBy.join('; ') ?? '') },
    {
      title: 'The data is in',
      ...step(byPolicy, withData),
      note: claims.length === 0 ? { tone: 'none', text: 'no claim needs data' } : undefined,
    },
    {
      title: 'Allowed',
      ...step(withData, allowed, () => message ?? words),
      note: { tone, text: state === 'Narrowed' && !isKept ? words : `${words}${message ? `: ${message}` : ''}` },
    },
    {
      title: 'Scheduled',
      ...step(scheduled.length === 0 ? [] : allowed, scheduled, () => 'the scheduler of Karmada chose others'),
      note: scheduled.length === 0 ? { tone: 'none', text: 'not scheduled yet' } : undefined,
    },
  ]
}

/** Compares the clusters before and after a step. By default, the last reason of a cluster is that of its step. */
function step(
  before: readonly LocatedCluster[],
  after: readonly LocatedCluster[],
  reasonOf = ({ excludedBy }: LocatedCluster) => excludedBy.join('; '),
): Pick<Step, 'clusters' | 'fallen'> {
  const stays = new Set(after.map(({ name }) => name))
  const fallen = Map.groupBy(
    before.filter(({ name }) => !stays.has(name)),
    reasonOf,
  )
  return {
    clusters: after.map(({ name }) => name),
    fallen: new Map([...fallen].map(([reason, of]) => [reason, of.map(({ name }) => name)])),
  }
}
