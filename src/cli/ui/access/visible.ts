/** Leaves out of the lists what a reader may not list. */
import { dataSources } from '../../../api/data-source.ts'
import { dataSourceClaims } from '../../../api/data-source-claim.ts'
import { bindingTypeIn, bindingTypes, clusters } from '../../../api/karmada.ts'
import { type ResourceType, resourceWord } from '../../../api/meta.ts'
import { pods } from '../../../api/pod.ts'
import { volumeManagers } from '../../../api/volume-manager.ts'
import type { ListName, Lists } from '../lists.ts'
import type { ReplicaRow } from '../replicas.ts'
import { mayNotList, otherNamespace, type Rejection, type Viewer } from './viewer.ts'

/** The object whose right shows a row. */
interface Source {
  kind: ResourceType
  namespace?: string | undefined
}

interface ListRights<Row> {
  /** The kinds of all rows. */
  kinds: readonly ResourceType[]
  sourceOf(row: Row): Source
  /** Leaves names of other objects out of the rows, if the reader may not list these. */
  reduce?: (rows: readonly Row[], viewer: Viewer) => Promise<readonly Row[]>
}

/** A row about a workload is read from its binding, which has the decision. */
const waitingKinds = [...bindingTypes, pods, volumeManagers]
const ownKinds: Readonly<Record<string, ResourceType>> = { Pod: pods, VolumeManager: volumeManagers }

function sourceOfObject({ kind, namespace }: { kind: string; namespace?: string }): Source {
  const own = Object.hasOwn(ownKinds, kind) ? ownKinds[kind] : undefined
  return { kind: own ?? bindingTypeIn(namespace), namespace }
}

const RIGHTS: { readonly [Name in ListName]: ListRights<Lists[Name][number]> } = {
  waiting: { kinds: waitingKinds, sourceOf: ({ object }) => sourceOfObject(object) },
  holds: { kinds: [...bindingTypes, pods], sourceOf: ({ workload }) => sourceOfObject(workload) },
  workloads: { kinds: bindingTypes, sourceOf: ({ workload }) => sourceOfObject(workload) },
  claims: { kinds: [dataSourceClaims], sourceOf: ({ namespace }) => ({ kind: dataSourceClaims, namespace }) },
  volumes: { kinds: [volumeManagers], sourceOf: ({ namespace }) => ({ kind: volumeManagers, namespace }) },
  replicas: {
    kinds: [volumeManagers],
    sourceOf: ({ namespace }) => ({ kind: volumeManagers, namespace }),
    reduce: withoutHiddenPods,
  },
  moves: { kinds: bindingTypes, sourceOf: ({ workload }) => sourceOfObject(workload) },
  sources: { kinds: [dataSources], sourceOf: () => ({ kind: dataSources }) },
  // The state of a system is that of its sources.
  systems: { kinds: [dataSources], sourceOf: () => ({ kind: dataSources }) },
  clusters: { kinds: [clusters], sourceOf: () => ({ kind: clusters }) },
}

/** Each namespace needs a question to the API server. A reader with rights in more of them names one. */
const MAX_NAMESPACES = 100

/** The rows of a list that a reader may see. */
export interface VisibleRows<Row> {
  rows: readonly Row[]
  /** A sentence about what is left out. */
  notice?: string
}

export interface VisibleInput {
  lists: Lists
  viewer: Viewer
  /** Whether the API server has the kind. A right on a kind that it does not have is not asked for. */
  isServed: (kind: ResourceType) => boolean
  /** The only namespace whose rows are wanted. */
  namespace?: string | undefined
}

/** Returns the rows of a list that a reader may see, or why it may see none. */
export async function visibleRows<Name extends ListName>(
  name: Name,
  { lists, viewer, isServed, namespace: wanted }: VisibleInput,
): Promise<(VisibleRows<Lists[Name][number]> & { rejection?: never }) | { rejection: Rejection }> {
  type Row = Lists[Name][number]
  const { kinds: ofRows, sourceOf, reduce = keepAll } = RIGHTS[name] as ListRights<Row>
  const kinds = ofRows.filter(isServed)
  const other = otherNamespace(viewer, wanted)
  if (other) return { rejection: other }
  const namespace = wanted ?? (kinds.some(({ namespaced }) => namespaced) ? viewer.namespace : undefined)
  const all = lists[name] as readonly Row[]
  const everywhere = new Set(await choose(kinds, (kind) => viewer.may('list', kind)))
  if (everywhere.size === kinds.length) return { rows: await reduce(all, viewer) }
  const partial = kinds.filter((kind) => !everywhere.has(kind))

  const found = all
    .map(sourceOf)
    .filter(({ kind }) => !everywhere.has(kind))
    .flatMap((source) => source.namespace ?? [])
  const namespaces = namespace === undefined ? [...new Set(found)].sort() : [namespace]
  const asked = namespaces.slice(0, MAX_NAMESPACES)
  const questions = partial
    .filter(({ namespaced }) => namespaced)
    .flatMap((kind) => asked.map((each) => ({ kind, namespace: each })))
  const granted = await choose(questions, ({ kind, namespace: each }) => viewer.may('list', kind, { namespace: each }))
  const allowed = new Set(granted.map(permissionKey))

  const [first] = partial
  if (everywhere.size === 0 && first && (namespace !== undefined || !first.namespaced) && granted.length === 0)
    return { rejection: mayNotList(first, namespace) }
  const visible = all.filter((row) => {
    const source = sourceOf(row)
    return everywhere.has(source.kind) || (source.namespace !== undefined && allowed.has(permissionKey(source)))
  })
  const rows = await reduce(visible, viewer)
  if (namespace !== undefined) return { rows }
  return { rows, notice: describeVisibleRows(partial, namespaces.length) }
}

async function keepAll<Rows>(rows: Rows): Promise<Rows> {
  return rows
}

/** The pods that use a replica may be of another namespace than its VolumeManager. */
async function withoutHiddenPods(rows: readonly ReplicaRow[], viewer: Viewer): Promise<readonly ReplicaRow[]> {
  if (await viewer.may('list', pods)) return rows
  const namespaces = [...new Set(rows.flatMap((row) => row.pods.map(keyNamespace)))].sort().slice(0, MAX_NAMESPACES)
  const allowed = new Set(await choose(namespaces, (namespace) => viewer.may('list', pods, { namespace })))
  return rows.map((row) => ({ ...row, pods: row.pods.filter((pod) => allowed.has(keyNamespace(pod))) }))
}

function keyNamespace(key: string): string {
  return key.split('/', 1)[0] ?? ''
}

function describeVisibleRows(kinds: readonly ResourceType[], namespaces: number): string {
  const names = [...new Set(kinds.map(resourceWord))].join(', ')
  const shown = `only rows of namespaces whose ${names} you may list`
  return namespaces > MAX_NAMESPACES ? `${shown}, of the first ${MAX_NAMESPACES}; choose a namespace` : shown
}

function permissionKey({ kind, namespace }: Source): string {
  return `${resourceWord(kind)} ${namespace}`
}

async function choose<Item>(items: readonly Item[], isChosen: (item: Item) => Promise<boolean>): Promise<Item[]> {
  const chosen = await Promise.all(items.map(isChosen))
  return items.filter((_, i) => chosen[i])
}

/** The lists as a reader may see them. A list that it may not see at all is empty. */
export async function visibleLists(names: readonly ListName[], input: VisibleInput): Promise<Lists> {
  const visible = await Promise.all(
    names.map(async (name) => {
      const found = await visibleRows(name, input)
      return [name, found.rejection ? [] : found.rows] as const
    }),
  )
  return { ...input.lists, ...Object.fromEntries(visible) }
}
