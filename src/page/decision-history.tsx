/** The history of decisions: the Events about placements that the API server still has. */
import type { History } from '../cli/ui/history.ts'
import { fetchHistory } from './api.ts'
import { Age, ObjectLink, Problem, Reading, State, Table } from './parts.tsx'
import { type Loaded, useLoaded } from './use-list.ts'

/** The server reads the Events again after this time at the earliest. */
const POLL_MS = 15_000

/** Reads the history of a namespace, or of all, and again when `version` changes. */
export function useHistory(namespace: string | undefined, version: number, now: number): Loaded<History> {
  const polled = version + Math.floor(now / POLL_MS)
  return useLoaded(`history ${namespace ?? ''}`, polled, () => fetchHistory(namespace))
}

interface Named {
  kind: string
  namespace?: string | undefined
  name: string
}

/** Shows the history, of one object if it is given. */
export function Past({ data, problem, now, of }: Loaded<History> & { now: number; of?: Named }) {
  const items = data?.items.filter(
    ({ object: { kind, namespace, name } }) =>
      of === undefined || (kind === of.kind && namespace === of.namespace && name === of.name),
  )
  return (
    <section>
      <h2>History of decisions</h2>
      <Problem what="The history" isOld={data !== undefined} problem={problem} />
      {!data && problem === undefined && <Reading />}
      {data?.problem !== undefined && <p class="quiet">{data.problem}</p>}
      {items?.length === 0 && data?.problem === undefined && (
        <p class="quiet">The API server has no Events about placements. It keeps them for an hour by default.</p>
      )}
      {items && items.length > 0 && (
        <Table label="History of decisions" titles={['Age', ...(of ? [] : ['Object']), 'Event', 'Message']}>
          {items.map(({ time, reason, type, message, object }, i) => (
            <tr key={`${time} ${reason} ${i}`} tabIndex={-1} data-row>
              <td class="number">
                <Age since={time} now={now} />
              </td>
              {!of && (
                <th scope="row">
                  <ObjectLink object={object} />
                </th>
              )}
              <td>
                <State tone={type === 'Warning' ? 'waiting' : 'fine'}>{reason}</State>
              </td>
              <td>{message}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}
