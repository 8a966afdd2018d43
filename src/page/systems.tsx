/** Data systems: whether they answer, and what depends on them. */
import type { Row } from './api.ts'
import { isFiltered } from './names.ts'
import { Age, ListView, State, Table, type Tone } from './parts.tsx'
import { useList } from './use-list.ts'
import type { ViewInput } from './view-input.ts'

const HEALTH: Readonly<Record<Row<'systems'>['health'], { tone: Tone; words: string }>> = {
  Healthy: { tone: 'fine', words: 'answers' },
  Unhealthy: { tone: 'failed', words: 'does not answer' },
  NeverQueried: { tone: 'waiting', words: 'was not asked yet' },
  NotConfigured: { tone: 'waiting', words: 'is not configured here' },
  InvalidConfiguration: { tone: 'failed', words: 'has an invalid configuration' },
}

export function Systems({ query, version, now }: ViewInput) {
  const loaded = useList('systems', query, version('systems'))
  return (
    <ListView
      loaded={loaded}
      selected={query['state']}
      empty={isFiltered(query) ? <p class="large">No data system matches.</p> : <NoSystem />}
    >
      {(rows: Row<'systems'>[]) => (
        <Table label="Data systems" titles={['System', 'Health', 'Since', 'Sources', 'Old answers', 'Problem']}>
          {rows.map((row) => (
            <tr key={row.id} tabIndex={-1} data-row>
              <th scope="row">{row.name}</th>
              <td>
                <State tone={HEALTH[row.health].tone}>{HEALTH[row.health].words}</State>
              </td>
              <td>{row.since !== undefined && <Age since={row.since} now={now} />}</td>
              <td class="number">
                <a href={`/data?system=${encodeURIComponent(row.name)}`}>{row.sources}</a>
              </td>
              <td class="number">{row.staleSources}</td>
              <td>{[row.message, ...(row.warnings ?? [])].filter(Boolean).join('; ')}</td>
            </tr>
          ))}
        </Table>
      )}
    </ListView>
  )
}

function NoSystem() {
  return (
    <>
      <p class="large">No data system is known.</p>
      <p>With data systems, Lodestone finds the locations of data itself: see docs/guides/data-systems.md.</p>
    </>
  )
}
