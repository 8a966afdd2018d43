/**
 * Many objects that never change, by name and by index. An index is built when it is first used, and has numbers only. In a cached store, the
 * keys of a claim need 1 KiB, and a question uses few of the indexes.
 */

import { type K8sObject, keyOfObject, objectKey } from '../../api/meta.ts'
import { fnv1a32 } from '../../base/hash.ts'
import type { IndexFunctions } from '../cache/object-table.ts'

type KeysOf<T> = (object: T) => readonly string[]

/** Objects by their number, from 0. */
export interface ObjectList<T> extends Iterable<T> {
  readonly size: number
  at(number: number): T
}

/** The list of a key with more objects is kept, since it is read again. */
const MANY = 32

export class CompactTable<T extends K8sObject> {
  readonly #objects: ObjectList<T>
  readonly #functions: IndexFunctions<T>
  #names: CompactIndex<T> | undefined
  readonly #indexes = new Map<string, CompactIndex<T>>()

  constructor(objects: ObjectList<T>, functions: IndexFunctions<T>) {
    this.#objects = objects
    this.#functions = functions
  }

  get size(): number {
    return this.#objects.size
  }

  get(namespace: string | undefined, name: string): T | undefined {
    this.#names ??= new CompactIndex(this.#objects, (object) => [keyOfObject(object)])
    return this.#names.get(objectKey(namespace, name))[0]
  }

  values(): Iterable<T> {
    return this.#objects
  }

  /** The objects under `key`. Throws for an unknown index, which is a mistake of the caller. */
  byIndex(name: string, key: string): readonly T[] {
    const keysOf = this.#functions[name]
    if (keysOf === undefined) throw new Error(`there is no index ${JSON.stringify(name)}`)
    let index = this.#indexes.get(name)
    if (index === undefined) {
      index = new CompactIndex(this.#objects, keysOf)
      this.#indexes.set(name, index)
    }
    return index.get(key)
  }
}

/** A hash table with chains. Keys are not stored: they are computed again for the objects of a chain. */
class CompactIndex<T> {
  readonly #objects: ObjectList<T>
  readonly #keysOf: KeysOf<T>
  /** Hash → the first entry of its chain, or -1. */
  readonly #heads: Int32Array
  /** Entry → the next entry of its chain, or -1. */
  readonly #next: Int32Array
  readonly #hashes: Int32Array
  /** Entry → the number of its object. */
  readonly #owners: Int32Array
  readonly #lists = new Map<string, readonly T[]>()

  constructor(objects: ObjectList<T>, keysOf: KeysOf<T>) {
    this.#objects = objects
    this.#keysOf = keysOf
    const { hashes, owners } = hashAll(objects, keysOf)
    this.#hashes = hashes
    this.#owners = owners
    this.#next = new Int32Array(hashes.length)
    this.#heads = new Int32Array(2 ** Math.ceil(Math.log2(hashes.length + 1))).fill(-1)
    // From the last to the first, so that chains have the order of the objects.
    for (let entry = hashes.length - 1; entry >= 0; entry--) {
      const slot = this.#slotOf(hashes[entry] as number)
      this.#next[entry] = this.#heads[slot] as number
      this.#heads[slot] = entry
    }
  }

  get(key: string): readonly T[] {
    const known = this.#lists.get(key)
    if (known) return known
    const found: T[] = []
    const hash = hashText(key)
    let last = -1
    for (let entry = this.#heads[this.#slotOf(hash)] as number; entry >= 0; entry = this.#next[entry] as number) {
      if (this.#hashes[entry] !== hash) continue
      const owner = this.#owners[entry] as number
      // An object may have two keys with the same hash.
      if (owner === last) continue
      last = owner
      const object = this.#objects.at(owner)
      if (this.#keysOf(object).includes(key)) found.push(object)
    }
    if (found.length > MANY) this.#lists.set(key, found)
    return found
  }

  #slotOf(hash: number): number {
    // The high bits are mixed in, since the low bits of similar names are similar.
    return (hash ^ (hash >>> 15)) & (this.#heads.length - 1)
  }
}

/** Returns the hash and the object of each key, in the order of the objects. */
function hashAll<T>(objects: ObjectList<T>, keysOf: KeysOf<T>): { hashes: Int32Array; owners: Int32Array } {
  let hashes = new Int32Array(objects.size)
  let owners = new Int32Array(objects.size)
  let size = 0
  let owner = 0
  for (const object of objects) {
    for (const key of keysOf(object)) {
      if (size === hashes.length) {
        hashes = grown(hashes)
        owners = grown(owners)
      }
      hashes[size] = hashText(key)
      owners[size++] = owner
    }
    owner += 1
  }
  return { hashes: hashes.slice(0, size), owners: owners.slice(0, size) }
}

function grown(array: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * array.length + 16)
  larger.set(array)
  return larger
}

/** Returns a hash as an Int32Array has it. */
function hashText(text: string): number {
  return fnv1a32(text) | 0
}
