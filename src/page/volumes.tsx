/** Volumes on nodes: replicas that are ready, and why others are not. */

import { formatBytes } from '../base/quantity.ts'
import type { Row } from './api.ts'
import { ListView, ObjectLink, State, Table, type Tone } from './parts.tsx'
import { useList } from './use-list.ts'
import type { ViewInput } from './view-input.ts'

const TONES: Readonly<Record<Row<'volumes'>['state'], Tone>> = {
  Pending: 'waiting',
  Running: 'fine',
  Completed: 'fine',
  Failed: 'failed',
}

export function Volumes({ query, version }: ViewInput) {
  const loaded = useList('volumes', query, version('volumes'))
  return (
    <ListView
      loaded={loaded}
      selected={query['state']}
      empty={
        <>
          <p class="large">No volume matches.</p>
          <p>A VolumeManager brings data to the nodes of a cluster. A hub may have none.</p>
        </>
      }
    >
      {(rows: Row<'volumes'>[]) => (
        <Table label="Volumes" titles={['Volume', 'State', 'Replicas', 'Size', 'Nodes', 'Why']}>
          {rows.map((row) => (
            <tr key={row.id} tabIndex={-1} data-row>
              <th scope="row">
                <ObjectLink object={{ kind: 'VolumeManager', namespace: row.namespace, name: row.volumeManager }}>
                  {row.namespace}/{row.volumeManager}
                </ObjectLink>
                <span class="quiet"> {row.volume}</span>
              </th>
              <td>
                <State tone={TONES[row.state]}>{row.state}</State>
              </td>
              <td>
                <meter min={0} max={Math.max(row.replicas, 1)} value={row.readyReplicas} aria-hidden="true" />{' '}
                {row.readyReplicas} of {row.replicas}
              </td>
              <td class="number">{row.bytes === undefined ? '' : formatBytes(row.bytes)}</td>
              <td>{row.nodes.length > 3 ? `${row.nodes.slice(0, 3).join(', ')}, …` : row.nodes.join(', ')}</td>
              <td>{row.message}</td>
            </tr>
          ))}
        </Table>
      )}
    </ListView>
  )
}
