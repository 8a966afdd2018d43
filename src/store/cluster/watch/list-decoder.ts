/** Decodes a list while it arrives. It returns each object when its last byte has arrived, so that no page is in memory as a whole. */
import type { K8sObject } from '../../../api/meta.ts'
import { PendingBytes } from './pending-bytes.ts'

/** The fields of a list other than its items. */
export interface ListEnvelope {
  metadata?: { resourceVersion?: string; continue?: string }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENS_ARRAY = 0x5b
const OPENS_OBJECT = 0x7b
const CLOSES_ARRAY = 0x5d
const CLOSES_OBJECT = 0x7d
/** The depth of the items of a list in brackets: inside the object and the array. */
const ITEM_DEPTH = 2
const ITEMS_BEGIN = /"items"\s*:\s*\[$/
/** Larger than any object in etcd (1.5 MiB by default), and small enough for the memory. */
const MAX_ITEM_BYTES = 16 * 1024 * 1024

/**
 * Decodes one list of the Kubernetes API, with any chunk borders and any order of fields. kube-apiserver writes `items` before `metadata`
 * for custom resources, and after it for built-in kinds.
 *
 * It searches the bytes only for brackets and quotation marks, which are never part of a multi-byte character. `JSON.parse` parses all
 * objects that a chunk completes together.
 */
export class ListDecoder {
  readonly #pending: PendingBytes
  /** The document without its items. */
  #envelope = ''
  #depth = 0
  #inItems = false
  /** Whether an item was parsed, so that a comma precedes the next one. */
  #hasItems = false
  #inString = false
  #escaped = false

  constructor(maxItemBytes = MAX_ITEM_BYTES) {
    this.#pending = new PendingBytes(
      maxItemBytes,
      () => new Error(`an object of the list has more than ${maxItemBytes} bytes`),
    )
  }

  /** Returns the objects that `chunk` completes, in order. Throws for an object that is too large, is not JSON or is not UTF-8. */
  push(chunk: Uint8Array): K8sObject[] {
    const complete: K8sObject[] = []
    let begin = 0
    let itemEnd = 0
    for (let at = this.#skipString(chunk, 0); at < chunk.length; at++) {
      const byte = chunk[at]
      if (byte === QUOTE) {
        this.#inString = true
        at = this.#skipString(chunk, at + 1) - 1
      } else if (byte === OPENS_OBJECT || byte === OPENS_ARRAY) {
        this.#depth += 1
        if (this.#depth !== ITEM_DEPTH || byte === OPENS_OBJECT) continue
        this.#envelope += this.#take(chunk.subarray(begin, at + 1))
        begin = at + 1
        this.#inItems = ITEMS_BEGIN.test(this.#envelope)
        this.#hasItems = false
      } else if (byte === CLOSES_OBJECT || byte === CLOSES_ARRAY) {
        this.#depth -= 1
        if (!this.#inItems) continue
        if (this.#depth === ITEM_DEPTH) itemEnd = at + 1
        if (this.#depth >= ITEM_DEPTH) continue
        this.#parseItems(this.#take(chunk.subarray(begin, at)), complete)
        begin = at
        this.#inItems = false
      }
    }
    if (this.#inItems && itemEnd > begin) {
      this.#parseItems(this.#take(chunk.subarray(begin, itemEnd)), complete)
      begin = itemEnd
    }
    this.#pending.hold(chunk.subarray(begin))
    return complete
  }

  /**
   * Returns the fields of the list other than its items, after the last chunk. Throws a SyntaxError when the list is invalid or incomplete.
   */
  end(): ListEnvelope {
    const envelope: unknown = JSON.parse(this.#envelope + this.#pending.take())
    if (typeof envelope !== 'object' || envelope === null) throw new Error('the list is not an object')
    return envelope
  }

  /**
   * Parses a part of the array and adds its objects to the result. Every part but the first begins with a comma, so an empty string
   * precedes it.
   */
  #parseItems(text: string, to: K8sObject[]): void {
    const items: K8sObject[] = this.#hasItems ? JSON.parse(`[""${text}]`).slice(1) : JSON.parse(`[${text}]`)
    this.#hasItems ||= items.length > 0
    for (const item of items) to.push(item)
  }

  #take(last: Uint8Array): string {
    this.#pending.hold(last)
    return this.#pending.take()
  }

  /**
   * Returns the end of the string that contains `from`, or `from` outside a string. A string may continue in the next chunk, even after a
   * backslash.
   */
  #skipString(chunk: Uint8Array, from: number): number {
    if (!this.#inString) return from
    let at = this.#escaped ? from + 1 : from
    for (; at < chunk.length; at++) {
      const byte = chunk[at]
      if (byte === BACKSLASH) at += 1
      else if (byte === QUOTE) {
        this.#inString = false
        this.#escaped = false
        return at + 1
      }
    }
    this.#escaped = at > chunk.length
    return chunk.length
  }
}
