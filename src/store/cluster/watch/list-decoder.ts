/** Reads a list while it arrives: objects are handed on as soon as their last byte is there, and no page is ever held whole. */
import type { K8sObject } from '../../../api/meta.ts'
import { PendingBytes } from './pending-bytes.ts'

/** The fields of a list beside its items. */
export interface ListEnvelope {
  metadata?: { resourceVersion?: string; continue?: string }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENS_ARRAY = 0x5b
const OPENS_OBJECT = 0x7b
const CLOSES_ARRAY = 0x5d
const CLOSES_OBJECT = 0x7d
/** How deep in brackets the items of a list are: in an array in the document. */
const ITEM_DEPTH = 2
const ITEMS_BEGIN = /"items"\s*:\s*\[$/
/** Larger than any object that etcd takes (1.5 MiB by default), small enough to hold. */
const MAX_ITEM_BYTES = 16 * 1024 * 1024

/**
 * Decodes one list of the Kubernetes API, with any chunk borders and any order of its members. kube-apiserver
 * writes `items` before `metadata` for custom resources, and after it for its own kinds.
 *
 * It looks only for brackets and the ends of strings, in the bytes: no part of a multi-byte character equals one. The
 * rest is left to `JSON.parse`, which gets all objects that a chunk completes at once.
 */
export class ListDecoder {
  readonly #pending: PendingBytes
  /** The document but for its items. */
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

  /** The objects that `chunk` completes, in order. Throws for an object that is too large, that is no JSON or not UTF-8. */
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

  /** What the list says beside its items, once all of it was pushed. Throws a SyntaxError when that is no JSON, or not all of it. */
  end(): ListEnvelope {
    const envelope: unknown = JSON.parse(this.#envelope + this.#pending.take())
    if (typeof envelope !== 'object' || envelope === null) throw new Error('the list is no object')
    return envelope
  }

  /** Adds the objects of a part of the array. After the first one, the part begins with a comma: the empty string stands before it. */
  #parseItems(text: string, to: K8sObject[]): void {
    const items: K8sObject[] = this.#hasItems ? JSON.parse(`[""${text}]`).slice(1) : JSON.parse(`[${text}]`)
    this.#hasItems ||= items.length > 0
    for (const item of items) to.push(item)
  }

  #take(last: Uint8Array): string {
    this.#pending.hold(last)
    return this.#pending.take()
  }

  /** Where the string that `from` is in ends, or `from` when it is in none. A string may go on in the next chunk, even at an escape. */
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
