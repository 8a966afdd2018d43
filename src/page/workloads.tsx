/** Workloads with a decision: the policy allows → allowed → scheduled, and why. */
import type { Row } from './api.ts'
import { ListView, ObjectLink, State, Table, type Tone } from './parts.tsx'
import { useList } from './use-list.ts'
import type { ViewInput } from './view-input.ts'

/** The decisions on workloads, in words. */
export const WORKLOAD_STATES: Readonly<Record<Row<'workloads'>['state'], { tone: Tone; words: string }>> = {
  Narrowed: { tone: 'fine', words: 'narrowed to its data' },
  Kept: { tone: 'waiting', words: 'stays where it is' },
  Relaxed: { tone: 'waiting', words: 'may run without its data' },
  OnHold: { tone: 'waiting', words: 'on hold' },
  Released: { tone: 'failed', words: 'released after its timeout' },
}

export function Workloads({ query, version }: ViewInput) {
  const loaded = useList('workloads', query, version('workloads'))
  return (
    <ListView
      loaded={loaded}
      selected={query['state']}
      empty={
        <>
          <p class="large">No workload matches.</p>
          <p>Lodestone decides on workloads that a DataSourceClaim names, or whose pods request volumes.</p>
        </>
      }
    >
      {(rows: Row<'workloads'>[]) => (
        <Table label="Workloads" titles={['Workload', 'Decision', 'Policy allows', 'Allowed', 'Scheduled to']}>
          {rows.map((row) => (
            <tr key={row.id} tabIndex={-1} data-row>
              <th scope="row">
                <ObjectLink object={row.workload} />
              </th>
              <td>
                <State tone={WORKLOAD_STATES[row.state].tone}>{WORKLOAD_STATES[row.state].words}</State>
                <span class="reason">{row.message}</span>
                {row.decisionId !== undefined && <span class="reason quiet">decision {row.decisionId}</span>}
              </td>
              <td>{row.before}</td>
              <td>{row.allowed}</td>
              <td>
                {row.scheduled === undefined ? <span class="quiet">a prediction</span> : row.scheduled.join(', ')}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </ListView>
  )
}
