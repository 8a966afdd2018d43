/** Moves of workloads to their data: what is due, the budget for it, the last move of each workload, and the history of decisions. */

import { formatAge } from '../base/time/duration.ts'
import type { Row } from './api.ts'
import { Past, useHistory } from './decision-history.tsx'
import { isFiltered } from './names.ts'
import { Age, ListView, ObjectLink, State, Table, type Tone } from './parts.tsx'
import { useList } from './use-list.ts'
import type { ViewInput } from './view-input.ts'

const STATES: Readonly<Record<Row<'moves'>['state'], { tone: Tone; words: string }>> = {
  Moving: { tone: 'waiting', words: 'moves now' },
  Returning: { tone: 'waiting', words: 'returns to its data' },
  Releasing: { tone: 'waiting', words: 'loses its narrowing' },
  Staying: { tone: 'none', words: 'stays where it is' },
  Placed: { tone: 'fine', words: 'is with its data' },
}

const MINUTE_MS = 60_000

export function Moves({ query, version, now }: ViewInput) {
  const loaded = useList('moves', query, version('moves'))
  const history = useHistory(query['namespace'], version('moves'), now)
  // The budget is that of all namespaces, and the first page has what is due.
  const isWhole = !Object.values(query).some(Boolean)
  return (
    <>
      {isWhole && loaded.data && history.data && (
        <Budget rows={loaded.data.items} max={history.data.maxMovesPerMinute} now={now} />
      )}
      <ListView
        loaded={loaded}
        selected={query['state']}
        empty={isFiltered(query) ? <p class="large">No workload matches.</p> : <NothingMoves />}
      >
        {(rows: Row<'moves'>[]) => (
          <Table label="Moves" titles={['Workload', 'Move', 'When', 'Runs in', 'Why']}>
            {rows.map((row) => (
              <tr key={row.id} tabIndex={-1} data-row>
                <th scope="row">
                  <ObjectLink object={row.workload} />
                </th>
                <td class="when">
                  <State tone={STATES[row.state].tone}>{STATES[row.state].words}</State>
                </td>
                <td class="when">
                  <When row={row} now={now} />
                </td>
                <td>
                  {row.clusters.join(', ') || <span class="quiet">none yet</span>}
                  {row.allowed !== row.clusters.join(', ') && <span class="reason quiet">allowed: {row.allowed}</span>}
                </td>
                <td>{row.message}</td>
              </tr>
            ))}
          </Table>
        )}
      </ListView>
      <Past {...history} now={now} />
    </>
  )
}

function NothingMoves() {
  return (
    <>
      <p class="large">No workload moves.</p>
      <p>A workload is listed here when a decision has placed it. A folder has no decisions, but predictions.</p>
    </>
  )
}

/** How much of the budget for a minute the moves need that are due in it. */
function Budget({ rows, max, now }: { rows: Row<'moves'>[]; max: number; now: number }) {
  const due = rows.filter(({ due: at }) => at !== undefined && Date.parse(at) <= now + MINUTE_MS).length
  return (
    <p class="budget">
      <meter min={0} max={max} high={max} value={Math.min(due, max)} aria-hidden="true" />
      <span>
        {due} of {max} moves are due within a minute <code>loops.maxMovesPerMinute</code>
      </span>
    </p>
  )
}

function When({ row: { state, due, since, scheduledTime }, now }: { row: Row<'moves'>; now: number }) {
  if (due === undefined) {
    if (state === 'Moving') return <span>now</span>
    return scheduledTime === undefined ? (
      <span class="quiet">not known</span>
    ) : (
      <span class="quiet">
        scheduled <Age since={scheduledTime} now={now} /> ago
      </span>
    )
  }
  const left = Date.parse(due) - now
  return (
    <>
      <time dateTime={due} title={`waits since ${since}, until ${due}`}>
        {left >= 0 ? `in ${formatAge(left)}` : `due for ${formatAge(-left)}`}
      </time>
      <meter
        min={0}
        max={Math.max(1, Date.parse(due) - Date.parse(since ?? due))}
        value={now - Date.parse(since ?? due)}
        aria-hidden="true"
      />
    </>
  )
}
