/** Changes reviews in ways that know their structure: any member may be missing, of another type, repeated, or from another review. */
import {
  BASE_AFFINITY_ANNOTATION,
  HOLD_ANNOTATION,
  LOCALITY_ANNOTATION,
  VOLUMES_ANNOTATION,
} from '../../src/api/lodestone.ts'
import { isObject } from '../../src/base/json.ts'
import type { Random } from '../random.ts'
import { stringify } from './encode.ts'
import { ODD_NAMES, oddValue, repetitions } from './odd-values.ts'

type Members = Record<string, unknown>

/** A member of an object or an item of a list. */
interface Place {
  holder: Members | unknown[]
  key: string | number
  value: unknown
}

/** A review that mutations start from and take parts of. */
export interface Seed {
  path: string
  review: Members
}

type Mutation = (review: Members, random: Random, seeds: readonly Seed[]) => void

/** Gives another review; the seed stays as it is. */
export function mutate(seed: Seed, random: Random, seeds: readonly Seed[]): Members {
  const review = structuredClone(seed.review)
  do random.pick(WHEEL)(review, random, seeds)
  while (random.chance(0.4))
  return review
}

const MUTATIONS: readonly [weight: number, mutation: Mutation][] = [
  [8, (review, random) => put(anyPlace(review, random), oddValue(random))],
  [5, (review, random) => remove(anyPlace(review, random))],
  [2, (review, random) => rename(anyPlace(review, random), random.pick(ODD_NAMES))],
  [3, (review, random) => insert(anyPlace(review, random), random.pick(ODD_NAMES), oddValue(random))],
  [3, (review, random) => repeat(anyPlace(review, random), random)],
  [3, (review, random) => put(anyPlace(review, random), copyOf(anyPlace(review, random)))],
  [3, (review, random, seeds) => put(anyPlace(review, random), copyOf(anyPlace(random.pick(seeds).review, random)))],
  [4, (review, random) => editText(anyPlace(review, random), random)],
  [6, (review, random) => setPlacement(review, random)],
  [5, (review, random) => editNote(review, random)],
  [3, (review, random) => changeRequest(review, random)],
  [2, (review, random) => setMember(objectOf(review, random), ['metadata', random.pick(META)], oddValue(random))],
  [
    2,
    (review, random) =>
      setMember(objectOf(review, random), ['metadata', 'annotations', VOLUMES_ANNOTATION], volumes(random)),
  ],
]
const META = ['name', 'generateName', 'namespace', 'labels', 'annotations', 'deletionTimestamp', 'uid'] as const
const WHEEL = MUTATIONS.flatMap(([weight, mutation]) => Array.from({ length: weight }, () => mutation))

/** Mostly somewhere in the object: the envelope has few members, and a wrong one ends the review early. */
function anyPlace(review: Members, random: Random): Place {
  const request = review['request']
  const start = isObject(request) && random.chance(0.85) ? objectOf(review, random) : review
  let place: Place = { holder: { start }, key: 'start', value: start }
  for (;;) {
    const next = childrenOf(place.value)
    if (next.length === 0) return place
    const key = random.pick(next)
    const holder = place.value as Members | unknown[]
    place = { holder, key, value: (holder as Members)[key] }
    // Deep places are many: stop anywhere on the way, or go on.
    if (random.chance(0.25)) return place
  }
}

function childrenOf(value: unknown): (string | number)[] {
  if (Array.isArray(value)) return value.length > 50 ? [0, value.length - 1] : [...value.keys()]
  return isObject(value) ? Object.keys(value) : []
}

function objectOf(review: Members, random: Random): Members {
  const request = review['request']
  if (!isObject(request)) return review
  const object = request[random.chance(0.8) ? 'object' : 'oldObject']
  return isObject(object) ? object : request
}

/** A copy, so that no value is inside of itself, and no seed changes. */
function copyOf({ value }: Pick<Place, 'value'>): unknown {
  try {
    return structuredClone(value)
  } catch (error) {
    if (error instanceof RangeError) return null // Nested too deeply to be copied.
    throw error
  }
}

function put({ holder, key }: Place, value: unknown): void {
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true })
}

function remove({ holder, key }: Place): void {
  if (Array.isArray(holder)) holder.splice(Number(key), 1)
  else delete holder[key]
}

function rename(place: Place, name: string): void {
  if (Array.isArray(place.holder)) return
  remove(place)
  put({ ...place, key: name }, place.value)
}

function insert({ value }: Place, name: string, odd: unknown): void {
  if (Array.isArray(value)) value.push(odd)
  else if (isObject(value)) put({ holder: value, key: name, value: undefined }, odd)
}

/** A body beyond the limit of the server says less than one below it. */
const MAX_REPEATED = 2_000_000

function repeat({ holder, key, value }: Place, random: Random): void {
  const times = Math.max(1, Math.min(repetitions(random), Math.floor(MAX_REPEATED / (stringify(value).length + 1))))
  const copies = Array.from({ length: times }, (_, i) => (typeof value === 'string' ? `${value}${i}` : value))
  if (Array.isArray(holder)) for (const copy of copies) holder.push(copy)
  else if (Array.isArray(value)) put({ holder, key, value }, copies.flat())
  else if (typeof value === 'string') put({ holder, key, value }, value.repeat(times))
}

function editText({ holder, key, value }: Place, random: Random): void {
  if (typeof value !== 'string') return
  const at = random.below(value.length + 1)
  const odd = oddValue(random)
  const inserted = typeof odd === 'string' ? odd : '\u0007'
  put({ holder, key, value }, value.slice(0, at) + inserted + value.slice(at + random.below(3)))
}

const NAMES = ['member1', 'member2', 'member3', 'member4', 'gone'] as const

/** So many that a cost that grows with the square shows. */
function manyOf(random: Random, most: number): number {
  return Math.floor(most * 10 ** -random.next())
}

function term(random: Random): Members {
  const some = () => NAMES.filter(() => random.chance(0.5))
  const large = random.chance(0.004)
    ? Array.from({ length: manyOf(random, 50_000) }, (_, i) => `member${i}`)
    : undefined
  return {
    ...(random.chance(0.7) && { clusterNames: large ?? some() }),
    ...(random.chance(0.2) && { exclude: some() }),
    ...(random.chance(0.2) && { labelSelector: { matchLabels: { location: random.pick(['ohio', 'mumbai']) } } }),
    ...(random.chance(0.15) && {
      fieldSelector: {
        matchExpressions: [{ key: 'region', operator: random.pick(['In', 'NotIn', 'Exists']), values: ['us-east'] }],
      },
    }),
  }
}

function affinity(random: Random): Members {
  if (random.chance(0.1)) return {}
  if (random.chance(0.5)) return { clusterAffinity: term(random) }
  const groups = Array.from({ length: random.chance(0.004) ? manyOf(random, 5_000) : 1 + random.below(3) }, (_, i) => ({
    ...term(random),
    affinityName: `group-${i}`,
    ...(random.chance(0.15) && { overflowAffinities: [{ ...term(random), affinityName: 'over' }] }),
  }))
  return { clusterAffinities: groups }
}

/** A placement that is valid: it gets as far as the decision. */
function setPlacement(review: Members, random: Random): void {
  const object = objectOf(review, random)
  const spread = random.chance(0.1) && { spreadConstraints: [{ spreadByField: 'cluster', minGroups: 2, maxGroups: 3 }] }
  setMember(object, ['spec', 'placement'], { ...affinity(random), ...spread })
}

function editNote(review: Members, random: Random): void {
  const key = random.pick([BASE_AFFINITY_ANNOTATION, LOCALITY_ANNOTATION, HOLD_ANNOTATION])
  setMember(
    objectOf(review, random),
    ['metadata', 'annotations', key],
    random.chance(0.9) ? note(key, random) : oddValue(random),
  )
}

function note(key: string, random: Random): string {
  const some = () => NAMES.filter(() => random.chance(0.5))
  const value: Members =
    key === BASE_AFFINITY_ANNOTATION
      ? affinity(random)
      : key === HOLD_ANNOTATION
        ? {
            message: 'm',
            reason: 'Unresolved',
            since: '2026-11-20T12:00:00Z',
            ...(random.chance(0.3) && { released: true }),
          }
        : {
            state: random.pick(['Narrowed', 'Kept', 'Relaxed']),
            message: '',
            claims: ['default/app'],
            ...(random.chance(0.7) && { required: some() }),
            ...(random.chance(0.3) && { preferred: [some(), some()] }),
          }
  if (random.chance(0.3)) insert(anyPlace({ value }, random), random.pick(ODD_NAMES), oddValue(random))
  const text = JSON.stringify(value)
  return random.chance(0.05) ? text.slice(0, random.below(text.length)) : text
}

function volumes(random: Random): unknown {
  const request = () => ({
    name: random.pick(['mnist', 'none', '', 'a/b']),
    'mount-path': random.pick(['/data', '/', '../x', '/data/../etc', '']),
    ...(random.chance(0.3) && { enforcement: random.pick(['Preferred', 'Required', 'x']) }),
    ...(random.chance(0.2) && { containers: [{ name: 'main', 'mount-path': '/x' }, random.pick(ODD_NAMES)] }),
  })
  if (random.chance(0.1)) return oddValue(random)
  return JSON.stringify(Array.from({ length: random.chance(0.01) ? manyOf(random, 10_000) : random.below(3) }, request))
}

function changeRequest(review: Members, random: Random): void {
  const request = review['request']
  if (!isObject(request)) return
  const changes: (() => void)[] = [
    () =>
      put({ holder: request, key: 'operation', value: 0 }, random.pick(['CREATE', 'UPDATE', 'DELETE', 'CONNECT', 'x'])),
    () => put({ holder: request, key: 'oldObject', value: 0 }, copyOf({ value: request['object'] })),
    () => put({ holder: request, key: 'oldObject', value: 0 }, oddValue(random)),
    () => put({ holder: request, key: 'object', value: 0 }, copyOf({ value: request['oldObject'] })),
    () => put({ holder: request, key: 'subResource', value: 0 }, random.pick(['status', 'scale', ''])),
    () => put({ holder: request, key: 'dryRun', value: 0 }, true),
    () =>
      remove({ holder: request, key: random.pick(['name', 'namespace', 'userInfo', 'oldObject', 'object']), value: 0 }),
  ]
  random.pick(changes)()
}

/** Sets a member deep in an object, making what is missing on the way. */
function setMember(object: Members, path: readonly string[], value: unknown): void {
  let holder = object
  for (const name of path.slice(0, -1)) {
    const below: unknown = Object.hasOwn(holder, name) ? holder[name] : undefined
    const next = isObject(below) ? below : {}
    if (next !== below) put({ holder, key: name, value: below }, next)
    holder = next
  }
  put({ holder, key: path.at(-1) ?? '', value: undefined }, value)
}
