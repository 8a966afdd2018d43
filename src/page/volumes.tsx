/** Volumes by nodes: a square for each replica, with its progress; why others wait; and the same as a table. */

import { formatBytes } from '../base/quantity.ts'
import type { Row } from './api.ts'
import { ListView, ObjectLink, State, Table, type Tone } from './parts.tsx'
import { Nodes, ReplicaLegend, Replicas, volumeKey } from './replicas.tsx'
import { changeQuery } from './route.ts'
import { useList, useReplicas } from './use-list.ts'
import type { ViewInput } from './view-input.ts'

const TONES: Readonly<Record<Row<'volumes'>['state'], Tone>> = {
  Pending: 'waiting',
  Running: 'fine',
  Completed: 'fine',
  Failed: 'failed',
}

const FORMS = { volume: 'By volume', node: 'By node', table: 'Table' } as const

export function Volumes({ query, version }: ViewInput) {
  const { by = 'volume', ...filters } = query
  const { state, namespace, search } = filters
  // The states of replicas are not those of volumes.
  const volumes = useList('volumes', by === 'node' ? { namespace, search } : filters, version('volumes'))
  const replicas = useReplicas({ namespace, search, ...(by === 'node' ? { sort: 'node', state } : { sort: 'name' }) })
  const rows = replicas.data?.items ?? []
  const isCut = replicas.data !== undefined && replicas.data.total > rows.length
  return (
    <>
      <div class="states forms">
        {Object.entries(FORMS).map(([form, words]) => (
          <button
            type="button"
            key={form}
            aria-pressed={by === form}
            onClick={() =>
              changeQuery({ by: form === 'volume' ? undefined : form, state: undefined, offset: undefined })
            }
          >
            {words}
          </button>
        ))}
      </div>
      {by !== 'table' && <ReplicaLegend />}
      {isCut && (
        <p class="notice">
          {rows.length.toLocaleString('en')} of {replicas.data?.total.toLocaleString('en')} replicas are shown; search
          for a volume or a node to see the others.
        </p>
      )}
      {by === 'node' ? (
        <Nodes loaded={replicas} selected={state} empty={<NoVolume />} />
      ) : (
        <ListView loaded={volumes} selected={state} empty={<NoVolume />}>
          {(shown: Row<'volumes'>[]) =>
            by === 'table' ? <VolumeTable rows={shown} /> : <VolumeSquares rows={shown} replicas={rows} />
          }
        </ListView>
      )}
    </>
  )
}

function VolumeSquares({ rows, replicas }: { rows: Row<'volumes'>[]; replicas: Row<'replicas'>[] }) {
  const byVolume = Map.groupBy(replicas, volumeKey)
  return (
    <ul class="groups">
      {rows.map((row) => (
        <li key={row.id} tabIndex={-1} data-row>
          <div>
            <h2>
              <VolumeLink row={row} />
            </h2>
            <p class="quiet">
              <State tone={TONES[row.state]}>{row.state}</State> {row.readyReplicas} of {row.replicas} ready
              {row.bytes !== undefined && `, ${formatBytes(row.bytes)}`}
            </p>
          </div>
          <Replicas label={`Replicas of ${row.id}`} rows={byVolume.get(row.id) ?? []} titleOf={replicaNodeName}>
            {row.message}
          </Replicas>
        </li>
      ))}
    </ul>
  )
}

function replicaNodeName({ node }: Row<'replicas'>): string {
  return node ?? 'no node yet'
}

function VolumeTable({ rows }: { rows: Row<'volumes'>[] }) {
  return (
    <Table label="Volumes" titles={['Volume', 'State', 'Replicas', 'Size', 'Nodes', 'Why']}>
      {rows.map((row) => (
        <tr key={row.id} tabIndex={-1} data-row>
          <th scope="row">
            <VolumeLink row={row} />
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
  )
}

function VolumeLink({ row }: { row: Row<'volumes'> }) {
  return (
    <>
      <ObjectLink object={{ kind: 'VolumeManager', namespace: row.namespace, name: row.volumeManager }}>
        {row.namespace}/{row.volumeManager}
      </ObjectLink>
      <span class="quiet"> {row.volume}</span>
    </>
  )
}

function NoVolume() {
  return (
    <>
      <p class="large">No volume matches.</p>
      <p>A VolumeManager brings data to the nodes of a cluster. A hub may have none.</p>
    </>
  )
}
