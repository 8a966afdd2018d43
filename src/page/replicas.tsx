/** Replicas as small squares: state, progress and use. A square is drawn again only when its replica changes. */
import { Component, type ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { formatBytes, formatCount } from '../base/quantity.ts'
import type { ListPage, Row } from './api.ts'
import { ListView } from './parts.tsx'
import { objectAddress } from './route.ts'
import type { Loaded } from './use-list.ts'

type Replica = Row<'replicas'>

/** The id of the volume of a replica in the list of volumes. */
export function volumeKey({ namespace, volumeManager, volume }: Replica): string {
  return `${namespace}/${volumeManager} ${volume}`
}

function volumeTitle({ volumeManager, volume }: Replica): string {
  return `${volumeManager} ${volume}`
}

/** The replicas of one volume or node. The line below them is about the one with the focus or the pointer. */
export function Replicas({
  label,
  rows,
  titleOf,
  children,
}: {
  label: string
  rows: Replica[]
  titleOf: (row: Replica) => string
  /** What is said while no replica has the focus. */
  children?: ComponentChildren
}) {
  const [shown, setShown] = useState<string>()
  const show = (event: Event) => setShown((event.target as Element).closest('a')?.dataset['id'])
  const focused = rows.find(({ id }) => id === shown)
  return (
    <div>
      <section
        class="squares"
        aria-label={label}
        onKeyDown={moveFocus}
        onFocusIn={show}
        onPointerOver={show}
        onFocusOut={() => setShown(undefined)}
        onPointerLeave={() => setShown(undefined)}
      >
        {rows.map((row, i) => (
          <Square key={row.id} row={row} isFirst={i === 0} title={describe(row, titleOf(row))} />
        ))}
      </section>
      <Rate rows={rows} />
      <p class="below">{focused ? describe(focused, titleOf(focused)) : (children ?? waitReasons(rows))}</p>
    </div>
  )
}

/** By node: all replicas on each node. */
export function Nodes({
  loaded,
  selected,
  empty,
}: {
  loaded: Loaded<ListPage<'replicas'>>
  selected: string | undefined
  empty: ComponentChildren
}) {
  const { data, ...rest } = loaded
  // The view says itself that it shows the first ones only.
  const shown = data ? { ...rest, data: { ...data, total: data.items.length } } : rest
  return (
    <ListView loaded={shown} selected={selected} empty={empty}>
      {(rows: Replica[]) => (
        <ul class="nodes">
          {[...Map.groupBy(rows, ({ node = '' }) => node)].map(([node, of]) => (
            <li key={node} tabIndex={-1} data-row>
              <h2 title={node}>{node || 'no node yet'}</h2>
              <Replicas label={`Replicas on ${node || 'no node yet'}`} rows={of} titleOf={volumeTitle} />
            </li>
          ))}
        </ul>
      )}
    </ListView>
  )
}

/** With the arrow keys, so that one press of Tab leaves the squares. */
function moveFocus(event: KeyboardEvent): void {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
  const square = (event.target as Element).closest('a')
  if (step === undefined || !square) return
  event.preventDefault()
  const next = step === 1 ? square.nextElementSibling : square.previousElementSibling
  ;(next as HTMLElement | null)?.focus()
}

/** `node-17: Downloading, 3.2 GiB of 5.0 GiB; used by demo/train-0; waits…` */
function describe(row: Replica, title: string): string {
  const { state, bytes, totalBytes, message, podCount, pods } = row
  const size =
    bytes === undefined
      ? ''
      : `, ${formatBytes(bytes)}${totalBytes !== undefined && totalBytes > bytes ? ` of ${formatBytes(totalBytes)}` : ''}`
  const more = podCount > pods.length ? ` and ${podCount - pods.length} more` : ''
  return [
    `${title}: ${state}${size}`,
    ...(podCount > 0 ? [`used by ${pods.join(', ')}${more}`] : []),
    ...(message === undefined ? [] : [message]),
  ].join('; ')
}

/** The reasons of those that wait, the most frequent first. */
function waitReasons(rows: readonly Replica[]): string {
  const messages = Map.groupBy(
    rows.flatMap(({ state, message }) => (state === 'Ready' ? [] : (message ?? []))),
    (message) => message,
  )
  return [...messages]
    .sort(([, a], [, b]) => b.length - a.length)
    .slice(0, 2)
    .map(([message, of]) => (of.length > 1 ? `${of.length}: ${message}` : message))
    .join('; ')
}

const RADIUS = 6
const LENGTH = 2 * Math.PI * RADIUS

interface SquareInput {
  row: Replica
  isFirst: boolean
  title: string
}

class Square extends Component<SquareInput> {
  override shouldComponentUpdate(next: SquareInput): boolean {
    return next.row !== this.props.row || next.isFirst !== this.props.isFirst
  }

  override render({ row, isFirst, title }: SquareInput) {
    const { namespace, volumeManager: name, state, podCount, bytes = 0, totalBytes } = row
    const part = totalBytes ? Math.min(1, bytes / totalBytes) : 0
    return (
      <a
        class={`square ${state}`}
        href={objectAddress({ kind: 'VolumeManager', namespace, name })}
        tabIndex={isFirst ? 0 : -1}
        data-id={row.id}
        title={title}
        aria-label={title}
      >
        {state === 'Downloading' && (
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <circle cx="8" cy="8" r={RADIUS} />
            <circle
              class="part"
              cx="8"
              cy="8"
              r={RADIUS}
              stroke-dasharray={`${part * LENGTH} ${LENGTH}`}
              transform="rotate(-90 8 8)"
            />
          </svg>
        )}
        {podCount > 0 && <span class="used" />}
      </a>
    )
  }
}

interface Sample {
  at: number
  bytes: number
}

const SAMPLES = 30
const WIDTH = 60
const HEIGHT = 16

/** The bytes per second that arrive, since the view was opened: a number, and a line of the last samples. */
function Rate({ rows }: { rows: readonly Replica[] }) {
  const series = useRef<{ of: string; samples: Sample[] }>({ of: '', samples: [] })
  const running = rows.filter(({ state }) => state === 'Downloading')
  if (running.length === 0) return null
  const bytes = running.reduce((sum, row) => sum + (row.bytes ?? 0), 0)
  const of = running.map(({ id }) => id).join('\n')
  // A download that begins or ends is no throughput.
  if (series.current.of !== of) series.current = { of, samples: [] }
  const { samples } = series.current
  if (samples.at(-1)?.bytes !== bytes) samples.push({ at: Date.now(), bytes })
  if (samples.length > SAMPLES) samples.shift()
  const rates = samples.slice(1).map(({ at, bytes: after }, i) => {
    const { at: from, bytes: before } = samples[i] as Sample
    return ((after - before) * 1000) / Math.max(1, at - from)
  })
  const highest = Math.max(...rates, 1)
  const points = rates.map((rate, i) => `${(i * WIDTH) / SAMPLES},${HEIGHT - 1 - (rate / highest) * (HEIGHT - 2)}`)
  return (
    <p class="rate">
      {formatCount(running.length, 'download')}
      {rates.length > 0 && `, ${formatBytes(Math.round(rates.at(-1) ?? 0))}/s`}
      {rates.length > 1 && (
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
          <polyline points={points.join(' ')} />
        </svg>
      )}
    </p>
  )
}

const LEGEND: readonly [Replica['state'], string][] = [
  ['Ready', 'ready'],
  ['Downloading', 'downloads, with its progress'],
  ['Starting', 'starts'],
  ['Queued', 'waits'],
  ['Failed', 'failed, and is retried'],
  ['Unreachable', 'node does not respond'],
  ['Evicted', 'evicted'],
]

export function ReplicaLegend() {
  return (
    <p class="legend">
      {LEGEND.map(([state, words]) => (
        <span key={state}>
          <span class={`square ${state}`} /> {words}
        </span>
      ))}
      <span>
        <span class="square Ready">
          <span class="used" />
        </span>{' '}
        used by a pod
      </span>
    </p>
  )
}
