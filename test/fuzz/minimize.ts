/** Makes a failing batch smaller for as long as it fails in the same way: fewer requests, then fewer members and shorter texts. */
import { isObject } from '../../src/base/json.ts'
import { stringify } from './encode.ts'
import type { Case } from './requests.ts'

export interface MinimizeInput {
  cases: readonly Case[]
  /** Whether these still fail in the way of the first ones. */
  fails(cases: readonly Case[]): Promise<boolean>
  limitMs: number
}

export async function minimize({ cases, fails, limitMs }: MinimizeInput): Promise<Case[]> {
  const deadline = Date.now() + limitMs
  const isOver = () => Date.now() > deadline
  let smallest = [...cases]

  async function keepIfFails(candidate: Case[]): Promise<boolean> {
    if (isOver() || !(await fails(candidate))) return false
    smallest = candidate
    return true
  }

  for (let size = smallest.length >> 1; size >= 1; size >>= 1) {
    for (let at = 0; at < smallest.length && smallest.length > 1; ) {
      if (!(await keepIfFails(smallest.toSpliced(at, size)))) at += size
    }
  }
  for (let i = 0; i < smallest.length; i++) {
    const replaced = (body: Buffer) => smallest.with(i, { ...(smallest[i] as Case), body })
    const bodyNow = () => (smallest[i] as Case).body
    while (!isOver() && (await shrinkOnce(bodyNow(), (body) => keepIfFails(replaced(body)), isOver)));
  }
  return smallest
}

type Try = (body: Buffer) => Promise<boolean>

/** Tries every smaller body that is one step away; true when one of them was kept. */
async function shrinkOnce(body: Buffer, attempt: Try, isOver: () => boolean): Promise<boolean> {
  const value = parsed(body)
  if (value === undefined) return shrinkBytes(body, attempt, isOver)
  for (const smaller of smallerValues(value)) {
    if (isOver()) return false
    const text = Buffer.from(stringify(smaller()))
    if (text.length < body.length && (await attempt(text))) return true
  }
  return false
}

async function shrinkBytes(body: Buffer, attempt: Try, isOver: () => boolean): Promise<boolean> {
  for (let size = body.length >> 1; size >= 1 && !isOver(); size >>= 1) {
    for (let at = 0; at < body.length; at += size) {
      if (isOver()) return false
      if (await attempt(Buffer.concat([body.subarray(0, at), body.subarray(at + size)]))) return true
    }
    if (body.length > 2_000 && size < body.length >> 6) return false
  }
  return false
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined // No JSON: its bytes are cut instead.
  }
}

/** Every value with one part less, made when it is asked for, the largest parts first. */
function smallerValues(root: unknown): (() => unknown)[] {
  const found: { size: number; value: () => unknown }[] = []
  const add = (size: number, change: (holder: Holder) => void, path: readonly Key[]) =>
    found.push({ size, value: () => changed(root, path, change) })
  const walk = (value: unknown, path: readonly Key[]) => {
    if (path.length > 60) return
    if (typeof value === 'string' && value.length > 3) {
      add(value.length >> 1, (holder) => assign(holder, path.at(-1) as Key, value.slice(0, value.length >> 1)), path)
    }
    if (Array.isArray(value) && value.length > 1) {
      const half = value.length >> 1
      add(half * 8, (holder) => assign(holder, path.at(-1) as Key, value.slice(0, half)), path)
      add(half * 8, (holder) => assign(holder, path.at(-1) as Key, value.slice(half)), path)
    }
    if (!Array.isArray(value) && !isObject(value)) return
    const entries = Object.entries(value).slice(0, 200)
    for (const [key, member] of entries) {
      const below = [...path, Array.isArray(value) ? Number(key) : key]
      add(stringify(member).length, (holder) => removeFrom(holder, below.at(-1) as Key), below)
      walk(member, below)
    }
  }
  walk(root, [])
  return found.sort((a, b) => b.size - a.size).map(({ value }) => value)
}

type Key = string | number
type Holder = Record<Key, unknown> | unknown[]

/** The same value but for a change at one place; only what leads there is copied. */
function changed(root: unknown, path: readonly Key[], change: (holder: Holder) => void): unknown {
  // A root that is a list or a text has a holder of its own.
  if (path.length === 0) return {}
  const copy = shallowCopy(root)
  let holder = copy
  for (const key of path.slice(0, -1)) {
    const below = shallowCopy((holder as Record<Key, unknown>)[key])
    assign(holder, key, below)
    holder = below
  }
  change(holder)
  return copy
}

function shallowCopy(value: unknown): Holder {
  return Array.isArray(value) ? [...value] : { ...(value as Record<Key, unknown>) }
}

function assign(holder: Holder, key: Key, value: unknown): void {
  ;(holder as Record<Key, unknown>)[key] = value
}

function removeFrom(holder: Holder, key: Key): void {
  if (Array.isArray(holder)) holder.splice(Number(key), 1)
  else delete holder[key]
}
