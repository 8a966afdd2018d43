/** The store of a snapshot: its objects never change, and nothing can be written. */
import type { K8sObject, ResourceType } from '../../api/meta.ts'
import { type AnyCachedKind, kindKey } from '../any-kind.ts'
import { type IndexFunctions, ObjectTable } from '../cache/object-table.ts'
import type { ObjectStore, UnavailableKind } from '../store.ts'
import { CompactTable, type ObjectList } from './compact-table.ts'
import type { SnapshotHeader } from './header.ts'

interface Table extends Pick<ObjectTable<K8sObject>, 'size' | 'get' | 'byIndex'> {
  values(): Iterable<K8sObject>
}

/** Of fewer objects, the objects and their keys are kept: look-ups are faster, and a decision looks up clusters all the time. */
const FEW = 20_000

export class SnapshotStore implements ObjectStore {
  readonly #types = new Map<string, ResourceType>()
  readonly #tables = new Map<ResourceType, Table>()
  readonly #byKey = new Map<string, Table>()
  readonly #typesByIndex = new Map<string, ResourceType[]>()
  readonly #notServed: ReadonlySet<string>
  readonly #unavailable: readonly UnavailableKind[]

  /** @param rows the objects of each kind, by the key of the kind */
  constructor(
    kinds: readonly AnyCachedKind[],
    rows: ReadonlyMap<string, ObjectList<K8sObject>>,
    { unavailable, notServed }: Pick<SnapshotHeader, 'unavailable' | 'notServed'>,
  ) {
    for (const kind of kinds) {
      const key = kindKey(kind.type)
      const table = openTable(rows.get(key), kind.indexes as IndexFunctions<K8sObject>)
      this.#types.set(key, kind.type)
      this.#tables.set(kind.type, table)
      this.#byKey.set(key, table)
      for (const index of Object.keys(kind.indexes)) {
        this.#typesByIndex.set(index, [...(this.#typesByIndex.get(index) ?? []), kind.type])
      }
    }
    this.#notServed = new Set(notServed)
    this.#unavailable = unavailable.flatMap(({ group, kind, reason, message }) => {
      const type = this.#types.get(kindKey({ group, kind }))
      return type ? [{ type, reason, message }] : []
    })
  }

  get<T extends K8sObject>(type: ResourceType<T>, namespace: string | undefined, name: string): T | undefined {
    return this.#tableOf(type).get(type.namespaced ? namespace : undefined, name) as T | undefined
  }

  list<T extends K8sObject>(type: ResourceType<T>): Iterable<T> {
    return this.#tableOf(type).values() as Iterable<T>
  }

  byIndex<T extends K8sObject>(type: ResourceType<T>, index: string, key: string): readonly T[] {
    return this.#tableOf(type).byIndex(index, key) as readonly T[]
  }

  typesWithIndex(index: string): readonly ResourceType[] {
    return this.#typesByIndex.get(index) ?? []
  }

  size(type: ResourceType): number {
    return this.#tableOf(type).size
  }

  kinds(): readonly ResourceType[] {
    return [...this.#types.values()]
  }

  serves(type: ResourceType): boolean {
    return this.#byKey.has(kindKey(type)) && !this.#notServed.has(kindKey(type))
  }

  synced(): boolean {
    return true
  }

  unsynced(): readonly ResourceType[] {
    return []
  }

  unavailable(): readonly UnavailableKind[] {
    return this.#unavailable
  }

  /** Nothing ever changes. */
  subscribe(): () => void {
    return () => {}
  }

  subscribeAvailability(): () => void {
    return () => {}
  }

  create = rejectWrite
  update = rejectWrite
  patch = rejectWrite
  delete = rejectWrite

  async read<T extends K8sObject>(
    type: ResourceType<T>,
    namespace: string | undefined,
    name: string,
  ): Promise<T | undefined> {
    return this.get(type, namespace, name)
  }

  async start(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
  }

  async stop(): Promise<void> {}

  #tableOf(type: ResourceType): Table {
    const table = this.#tables.get(type) ?? this.#byKey.get(kindKey(type))
    if (table === undefined) throw new Error(`a snapshot has no ${type.kind} objects`)
    return table
  }
}

function openTable(objects: ObjectList<K8sObject> | undefined, indexes: IndexFunctions<K8sObject>): Table {
  if (objects && objects.size > FEW) return new CompactTable(objects, indexes)
  const table = new ObjectTable(indexes)
  for (const object of objects ?? []) table.set(object)
  return table
}

async function rejectWrite(): Promise<never> {
  throw new Error('a snapshot is read-only')
}
