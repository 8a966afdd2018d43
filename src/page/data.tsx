/** Where data is: sources by clusters. A filled dot is data; hatched is unknown, hollow is nowhere, faded is old. */

import { formatBytes } from '../base/quantity.ts'
import type { ClusterRow } from '../cli/ui/lists.ts'
import { fetchClusters, type Row } from './api.ts'
import { compareNames, describeOtherClusters, isFiltered, joinNames } from './names.ts'
import { Age, ListView, ObjectLink, State, Table } from './parts.tsx'
import { changeQuery } from './route.ts'
import { useList, useLoaded } from './use-list.ts'
import type { ViewInput } from './view-input.ts'

/** More columns than this cannot be read: then the clusters of a row are listed as text. */
const MAX_COLUMNS = 24
const SORTS = { name: 'name', copies: 'fewest copies', bytes: 'size', confirmed: 'oldest answer' }

export function Data({ query, version, now }: ViewInput) {
  const loaded = useList('sources', query, version('sources'))
  const clusters = useLoaded('clusters', version('clusters'), fetchClusters).data?.items ?? []
  const columns = clusters.length <= MAX_COLUMNS ? clusters.toSorted(byRegion) : []
  return (
    <>
      <label class="sort">
        Sort by{' '}
        <select value={query['sort'] ?? 'name'} onChange={(event) => changeQuery(sorted(event.currentTarget.value))}>
          {Object.entries(SORTS).map(([sort, words]) => (
            <option key={sort} value={sort}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <Legend />
      <ListView loaded={loaded} selected={query['state']} empty={isFiltered(query) ? <NoMatch /> : <NoData />}>
        {(rows: Row<'sources'>[]) => <Matrix rows={rows} columns={columns} now={now} />}
      </ListView>
    </>
  )
}

function byRegion(a: ClusterRow, b: ClusterRow): number {
  return compareNames(a.region ?? '~', b.region ?? '~') || compareNames(a.name, b.name)
}

function sorted(sort: string): Record<string, string | undefined> {
  return { sort, order: sort === 'bytes' ? 'desc' : undefined, offset: undefined }
}

function Matrix({ rows, columns, now }: { rows: Row<'sources'>[]; columns: ClusterRow[]; now: number }) {
  const largest = Math.max(...rows.map(({ bytes = 0 }) => bytes), 1)
  return (
    <Table
      label="Data by clusters"
      head={
        <>
          {columns.length > 0 && <Regions columns={columns} />}
          <tr>
            <th scope="col">Data</th>
            <th scope="col">Size</th>
            <th scope="col">Confirmed</th>
            {columns.length === 0 && <th scope="col">Clusters</th>}
            {columns.map(({ name }) => (
              <th scope="col" key={name} class="cluster">
                <span>{name}</span>
              </th>
            ))}
          </tr>
        </>
      }
    >
      {rows.map((row) => (
        <tr key={row.id} tabIndex={-1} data-row>
          <th scope="row">
            <ObjectLink object={{ kind: 'DataSource', name: row.name }}>{row.dataName}</ObjectLink>
            <span class="quiet">
              {' '}
              {row.system} {row.type}
            </span>
            {row.lastError !== undefined && <span class="problem">{row.lastError}</span>}
            <OtherClusters row={row} columns={columns} />
          </th>
          <td class="number">
            {row.bytes === undefined ? '' : `${row.bytesAreMinimum ? '≥ ' : ''}${formatBytes(row.bytes)}`}
          </td>
          <td>
            {row.lastResolvedTime === undefined ? (
              <span class="quiet">by a user</span>
            ) : (
              <Age since={row.lastResolvedTime} now={now} />
            )}
          </td>
          {columns.length === 0 && <td>{sourceClusters(row)}</td>}
          {columns.map(({ name }) => (
            <td key={name} class="cluster">
              <Dot row={row} cluster={name} largest={largest} />
            </td>
          ))}
        </tr>
      ))}
    </Table>
  )
}

/** A cluster that left the fleet, or a mistyped name in a DataSource, has no column. */
function OtherClusters({ row, columns }: { row: Row<'sources'>; columns: ClusterRow[] }) {
  const words = columns.length > 0 ? describeOtherClusters(row.clusters, columns) : undefined
  return words === undefined ? null : <span class="problem">{words}</span>
}

function Legend() {
  return (
    <p class="legend">
      <span class="dot here size-3" /> here, larger for more bytes
      <span class="dot here old size-3" /> not confirmed lately
      <span class="dot unknown" /> unknown
      <span class="dot nowhere" /> in none of the clusters
    </p>
  )
}

/** One heading above the clusters of each region. */
function Regions({ columns }: { columns: ClusterRow[] }) {
  const regions = [...Map.groupBy(columns, ({ region = '' }) => region)]
  if (regions.length === 1 && regions[0]?.[0] === '') return null
  return (
    <tr>
      <td colSpan={3} />
      {regions.map(([region, of]) => (
        <th scope="colgroup" colSpan={of.length} key={region} class="region">
          {region || 'no region'}
        </th>
      ))}
    </tr>
  )
}

function sourceClusters({ clusters }: Row<'sources'>) {
  if (clusters === undefined) return <State tone="unknown">unknown</State>
  if (clusters.length === 0) return <State tone="failed">nowhere</State>
  return joinNames(clusters)
}

function Dot({ row, cluster, largest }: { row: Row<'sources'>; cluster: string; largest: number }) {
  const { clusters, bytes = 0, lastError } = row
  if (clusters === undefined) return <span class="dot unknown" role="img" aria-label="unknown" title="unknown" />
  if (!clusters.includes(cluster)) {
    const words = clusters.length === 0 ? 'nowhere' : 'not here'
    return clusters.length === 0 ? <span class="dot nowhere" role="img" aria-label={words} title={words} /> : null
  }
  const size = Math.max(1, Math.round(4 * Math.sqrt(bytes / largest)))
  const words = `here${bytes > 0 ? `, ${formatBytes(bytes)}` : ''}${lastError === undefined ? '' : ', not confirmed lately'}`
  return (
    <span
      class={`dot here size-${size}${lastError === undefined ? '' : ' old'}`}
      role="img"
      aria-label={words}
      title={words}
    />
  )
}

function NoMatch() {
  return <p class="large">No DataSource matches.</p>
}

function NoData() {
  return (
    <>
      <p class="large">No data is known.</p>
      <p>A DataSource says in which clusters data is. Create one, or configure a data system that answers for it:</p>
      <pre>
        <code>{`apiVersion: datadependency.volcano.sh/v1alpha1
kind: DataSource
metadata:
  name: orders
spec:
  system: static
  type: table
  name: prod.sales.orders
  locality:
    clusterNames: [member2]`}</code>
      </pre>
    </>
  )
}
