/** One object: the tree of `explain`, and for a workload each cluster with its data and what excludes it. */
import { defined } from '../base/json.ts'

import { formatBytes } from '../base/quantity.ts'
import { fetchExplanation, fetchLocation, type Line } from './api.ts'
import { explainCommand } from './commands.ts'
import { Past, useHistory } from './decision-history.tsx'
import { CommandLine, Reading, State, Table, type Tone } from './parts.tsx'
import { Placement } from './placement.tsx'
import { objectAddress } from './route.ts'
import { useLoaded } from './use-list.ts'

interface ExplanationInput {
  kind: string
  name: string
  namespace: string | undefined
  /** Grows with every change of any list. */
  version: number
  /** The folder that the server reads; undefined for a cluster. */
  folder: string | undefined
  /** Milliseconds since the epoch. */
  now: number
}

export function Explanation({ kind, name, namespace, version, folder, now }: ExplanationInput) {
  const key = `${kind}/${namespace ?? ''}/${name}`
  const { data, problem } = useLoaded(key, version, () => fetchExplanation(kind, name, namespace))
  return (
    <>
      <p>
        <CommandLine command={explainCommand({ kind, name, namespace, folder })} />
      </p>
      {problem !== undefined && (
        <p class="notice failed" role="alert">
          {problem}
        </p>
      )}
      {!data && problem === undefined && <Reading />}
      {data && (
        <>
          {isWorkload(data.object) && <Location line={data.object} version={version} />}
          <h2>Explanation</h2>
          <ul class="tree">
            <TreeLine line={data.object} />
          </ul>
          {isWorkload(data.object) && <Decisions line={data.object} version={version} now={now} />}
        </>
      )}
    </>
  )
}

const TONES: Readonly<Record<string, Tone>> = {
  Narrowed: 'fine',
  Located: 'fine',
  Ready: 'fine',
  Running: 'fine',
  Attached: 'fine',
  OnHold: 'waiting',
  Gated: 'waiting',
  Waiting: 'waiting',
  Unknown: 'unknown',
  Nowhere: 'failed',
  NotFound: 'failed',
  NotPermitted: 'failed',
  Failed: 'failed',
}

function TreeLine({ line }: { line: Line }) {
  const { text, kind, name, state, children } = line
  const title =
    kind !== undefined && name !== undefined ? (
      <a href={objectAddress({ ...line, kind, name })}>{text}</a>
    ) : (
      <span>{text}</span>
    )
  return (
    <li>
      {title} {state !== undefined && <State tone={TONES[state] ?? 'waiting'}>{state}</State>}
      {children.length > 0 && (
        <ul>
          {children.map((child, i) => (
            <TreeLine key={i} line={child} />
          ))}
        </ul>
      )}
    </li>
  )
}

/** A workload has a policy or a binding below it. */
function isWorkload({ kind = '', children }: Line): boolean {
  return (
    !/Binding$|^DataSource|^VolumeManager|Policy$/.test(kind) &&
    children.some((child) => /Binding$|Policy$/.test(child.kind ?? ''))
  )
}

function Decisions({ line, version, now }: { line: Line; version: number; now: number }) {
  const { kind = '', namespace, name = '' } = line
  return <Past {...useHistory(namespace, version, now)} now={now} of={{ kind, namespace, name }} />
}

const CLUSTERS_SHOWN = 100

function Location({ line, version }: { line: Line; version: number }) {
  const { apiVersion, kind, namespace, name } = line
  const workload = defined({ apiVersion, kind, name, namespace })
  const { data, problem } = useLoaded(JSON.stringify(workload), version, () => fetchLocation(workload))
  if (problem !== undefined) return <p class="notice failed">{problem}</p>
  if (!data) return null
  const shown = data.clusters.slice(0, CLUSTERS_SHOWN)
  return (
    <section>
      <Placement answer={data} />
      <h2>Where it can run</h2>
      <Table label="Clusters for this workload" titles={['Cluster', 'Data here', 'Why not']}>
        {shown.map((cluster) => (
          <tr key={cluster.name} class={cluster.allowed ? '' : 'excluded'}>
            <th scope="row">
              <State tone={cluster.allowed ? 'fine' : 'none'}>{cluster.name}</State>
            </th>
            <td class="number">{cluster.has.length > 0 ? formatBytes(cluster.bytes) : ''}</td>
            <td>{cluster.excludedBy.join('; ')}</td>
          </tr>
        ))}
      </Table>
      {data.clusters.length > shown.length && <p class="quiet">{data.clusters.length - shown.length} more clusters</p>}
    </section>
  )
}
