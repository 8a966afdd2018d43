/** Claims, with their data and their workload. */
import type { Row } from './api.ts'
import { joinNames } from './names.ts'
import { ListView, ObjectLink, State, Table, type Tone } from './parts.tsx'
import { useList } from './use-list.ts'
import type { ViewInput } from './view-input.ts'

const TONES: Readonly<Record<Row<'claims'>['location'], Tone>> = {
  Located: 'fine',
  Unknown: 'waiting',
  Nowhere: 'failed',
  NotPermitted: 'failed',
}

export function Claims({ query, version }: ViewInput) {
  const loaded = useList('claims', query, version('claims'))
  return (
    <ListView loaded={loaded} selected={query['state']} empty={<p class="large">No DataSourceClaim matches.</p>}>
      {(rows: Row<'claims'>[]) => (
        <Table label="Claims" titles={['Claim', 'Workload', 'Data', 'Where']}>
          {rows.map((row) => (
            <tr key={row.id} tabIndex={-1} data-row>
              <th scope="row">
                <ObjectLink object={{ kind: 'DataSourceClaim', namespace: row.namespace, name: row.name }}>
                  {row.namespace}/{row.name}
                </ObjectLink>
                {row.enforcement === 'Preferred' && <span class="quiet"> preferred</span>}
              </th>
              <td>
                <ObjectLink object={{ namespace: row.namespace, ...row.workload }} />
              </td>
              <td>
                {row.source === undefined ? (
                  row.dataSourceName
                ) : (
                  <ObjectLink object={{ kind: 'DataSource', name: row.source }}>{row.dataSourceName}</ObjectLink>
                )}
                <span class="quiet"> {row.system}</span>
              </td>
              <td>
                <State tone={TONES[row.location]}>
                  {row.location === 'Located' ? joinNames(row.clusters) : row.message}
                </State>
              </td>
            </tr>
          ))}
        </Table>
      )}
    </ListView>
  )
}
