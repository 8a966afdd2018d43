/** The lists of the page: one page of rows, filtered and sorted. Pure. */
import { objectKey } from '../../api/meta.ts'
import type {
  ClaimReport,
  HoldReport,
  SourceReport,
  StatusReport,
  SystemReport,
  VolumeReport,
} from '../status/report.ts'
import type { MoveRow } from './moves.ts'
import type { ReplicaRow } from './replicas.ts'
import { compare, referenceId, type WaitingRow, waitingId, waitingRows } from './waiting.ts'
import type { WorkloadRow } from './workloads.ts'

/** A cluster of the fleet. */
export interface ClusterRow {
  name: string
  provider?: string
  region?: string
}

/** Every list, by its name in the URL. */
export interface Lists {
  waiting: readonly WaitingRow[]
  workloads: readonly WorkloadRow[]
  claims: readonly ClaimReport[]
  holds: readonly HoldReport[]
  volumes: readonly VolumeReport[]
  replicas: readonly ReplicaRow[]
  moves: readonly MoveRow[]
  sources: readonly SourceReport[]
  systems: readonly SystemReport[]
  clusters: readonly ClusterRow[]
}

export type ListName = keyof Lists
type RowOf<Name extends ListName> = Lists[Name][number]

/** A row with its id, which is stable as long as the object exists. */
export type Identified<Row> = Row & { id: string }

interface ListKind<Row> {
  id(row: Row): string
  /** Absent for lists of objects without a namespace. */
  namespace?: (row: Row) => string | undefined
  /** Absent for lists of objects without a data system. */
  system?: (row: Row) => string | undefined
  /** The word by which rows are counted and selected, such as the cause of a wait. */
  state(row: Row): string | undefined
  /** The values to sort by. The first is the default; `name` is the id. */
  sorts: Readonly<Record<string, (row: Row) => string | number>>
}

const KINDS: { readonly [Name in ListName]: ListKind<RowOf<Name>> } = {
  waiting: {
    id: waitingId,
    namespace: ({ object }) => object.namespace,
    state: ({ cause }) => cause,
    // Longest first; what has no known begin is last.
    sorts: { since: ({ since }) => since ?? LAST, cause: ({ cause }) => cause, name: waitingId },
  },
  workloads: {
    id: workloadId,
    namespace: ({ workload }) => workload.namespace,
    state: ({ state }) => state,
    sorts: { name: workloadId, state: ({ state }) => state },
  },
  claims: {
    id: ({ namespace, name }) => objectKey(namespace, name),
    namespace: ({ namespace }) => namespace,
    system: ({ system }) => system,
    state: ({ location }) => location,
    sorts: {
      name: ({ namespace, name }) => objectKey(namespace, name),
      phase: ({ phase }) => phase,
      location: ({ location }) => location,
    },
  },
  holds: {
    id: workloadId,
    namespace: ({ workload }) => workload.namespace,
    state: ({ reason }) => reason,
    sorts: { since: ({ since }) => since ?? LAST, name: workloadId },
  },
  volumes: {
    id: volumeId,
    namespace: ({ namespace }) => namespace,
    state: ({ state }) => state,
    sorts: { name: volumeId, state: ({ state }) => state, bytes: ({ bytes = 0 }) => bytes },
  },
  replicas: {
    id: replicaId,
    namespace: ({ namespace }) => namespace,
    state: ({ state }) => state,
    sorts: { name: replicaId, node: ({ node }) => node ?? LAST },
  },
  moves: {
    id: workloadId,
    namespace: ({ workload }) => workload.namespace,
    state: ({ state }) => state,
    sorts: { due: dueFirst, name: workloadId, state: ({ state }) => state },
  },
  sources: {
    id: ({ name }) => name,
    system: ({ system }) => system,
    state: ({ phase }) => phase,
    sorts: {
      name: ({ name }) => name,
      bytes: ({ bytes = 0 }) => bytes,
      // The data with the fewest copies first; unknown locations are last.
      copies: ({ clusters }) => clusters?.length ?? Number.MAX_SAFE_INTEGER,
      confirmed: ({ lastResolvedTime }) => lastResolvedTime ?? '',
    },
  },
  systems: {
    id: ({ name }) => name,
    system: ({ name }) => name,
    state: ({ health }) => health,
    sorts: { name: ({ name }) => name, health: ({ health }) => health },
  },
  clusters: {
    id: ({ name }) => name,
    state: ({ region }) => region,
    sorts: { name: ({ name }) => name, region: ({ region }) => region ?? LAST },
  },
}

/** Sorts after every time and every name. */
const LAST = '~'

function workloadId({ workload }: Pick<WorkloadRow, 'workload'>): string {
  return referenceId(workload)
}

function volumeId({ namespace, volumeManager, volume }: VolumeReport | ReplicaRow): string {
  return `${objectKey(namespace, volumeManager)} ${volume}`
}

function replicaId(row: ReplicaRow): string {
  return `${volumeId(row)} ${row.index}`
}

/** Later than every time, in ms since the epoch. */
const FAR = 1e15

/** What happens now, then what is due next, then what was scheduled last. */
function dueFirst({ state, due, scheduledTime }: MoveRow): number {
  if (state === 'Moving') return 0
  return due === undefined ? FAR - (scheduledTime === undefined ? 0 : Date.parse(scheduledTime)) : Date.parse(due)
}

export const LIST_NAMES = Object.keys(KINDS) as ListName[]

/** Returns the lists of a report with all sections, and of what it does not have. */
export function buildLists(
  report: StatusReport,
  others: Pick<Lists, 'workloads' | 'replicas' | 'moves' | 'clusters'>,
): Lists {
  const { claims = [], holds = [], volumes = [], sources = [], systems = [] } = report
  return { waiting: waitingRows(report), claims, holds, volumes, sources, systems, ...others }
}

/** Returns the words by which a list can be sorted. The first one is the default. */
export function sortWords(name: ListName): string[] {
  return Object.keys(KINDS[name].sorts)
}

/** Returns the parameters by which rows of a list are selected. A list of objects without namespaces has none for them. */
export function selectionParameters(name: ListName): (keyof Selection)[] {
  const { namespace, system } = KINDS[name]
  return [...(namespace ? ['namespace' as const] : []), ...(system ? ['system' as const] : []), 'state', 'search']
}

/** Which rows a request wants. */
export interface Selection {
  namespace?: string | undefined
  system?: string | undefined
  state?: string | undefined
  /** Only rows with this text in one of their values, in any case. */
  search?: string | undefined
}

export interface PageRequest extends Selection {
  /** One of `sortWords`. */
  sort: string
  isDescending: boolean
  offset: number
  limit: number
}

/** Part of a list. */
export interface Page {
  /** The number of rows that the selection has in all pages. */
  total: number
  /** The number of rows by state, whatever state is selected. */
  states: Record<string, number>
  items: Identified<object>[]
}

/** Returns one page of a list. */
export function selectPage(lists: Lists, name: ListName, request: PageRequest): Page {
  const kind = KINDS[name] as ListKind<unknown>
  const { state, ...others } = request
  const inAllStates = select(lists, name, others)
  const rows = state === undefined ? inAllStates : inAllStates.filter((row) => kind.state(row) === state)
  const value = kind.sorts[request.sort] ?? kind.id
  const direction = request.isDescending ? -1 : 1
  const keyed = rows.map((row) => ({ row, id: kind.id(row), by: value(row) }))
  keyed.sort((a, b) => direction * compare(a.by, b.by) || compare(a.id, b.id))
  const items = keyed
    .slice(request.offset, request.offset + request.limit)
    .map(({ row, id }) => ({ id, ...(row as object) }))
  return { total: rows.length, states: countStates(inAllStates.map((row) => kind.state(row))), items }
}

/** More states than this are not counted: regions may have any number. */
const MAX_STATES = 100

function countStates(states: readonly (string | undefined)[]): Record<string, number> {
  const counts = new Map<string, number>()
  for (const state of states) {
    if (state !== undefined && (counts.has(state) || counts.size < MAX_STATES))
      counts.set(state, (counts.get(state) ?? 0) + 1)
  }
  return Object.fromEntries([...counts].sort(([a], [b]) => compare(a, b)))
}

/** Returns the selected rows by id, for the comparison of two states of a list. */
export function rowsById(lists: Lists, name: ListName, selection: Selection): Map<string, Identified<object>> {
  const kind = KINDS[name] as ListKind<unknown>
  return new Map(
    select(lists, name, selection).map((row) => {
      const id = kind.id(row)
      return [id, { id, ...(row as object) }]
    }),
  )
}

function select(lists: Lists, name: ListName, { namespace, system, state, search }: Selection): readonly unknown[] {
  const kind = KINDS[name] as ListKind<unknown>
  const text = search?.toLowerCase()
  return (lists[name] as readonly unknown[]).filter(
    (row) =>
      (namespace === undefined || kind.namespace?.(row) === namespace) &&
      (system === undefined || kind.system?.(row) === system) &&
      (state === undefined || kind.state(row) === state) &&
      (text === undefined || hasText(row, text)),
  )
}

function hasText(value: unknown, text: string): boolean {
  if (typeof value === 'string') return value.toLowerCase().includes(text)
  return value !== null && typeof value === 'object' && Object.values(value).some((each) => hasText(each, text))
}
