/** Bodies from the schemas: for each webhook, the longest legal value of each list and map, alone and in pairs; for each kind, many templates. */
import { VOLUMES_ANNOTATION } from '../src/api/lodestone.ts'
import { apiVersionOf, type K8sObject } from '../src/api/meta.ts'
import { dataSourceSchema } from '../src/api/schemas/data-source.ts'
import { dataSourceClaimSchema } from '../src/api/schemas/data-source-claim.ts'
import { bindingSchema, policySchema } from '../src/api/schemas/karmada.ts'
import { podSpecSchema } from '../src/api/schemas/pod.ts'
import { volumeManagerSchema } from '../src/api/schemas/volume-manager.ts'
import { isObject } from '../src/base/json.ts'
import { pathSegments } from '../src/base/json-path.ts'
import type { JsonSchema } from '../src/base/schema/explain-mismatch.ts'
import { hasPods, SHIPPED_KINDS, type WorkloadKind } from '../src/core/workload-kinds/kinds.ts'
import {
  makeBinding,
  makeClaim,
  makeObject,
  makePod,
  makePolicy,
  makeSource,
  makeVolumeManager,
} from '../test/builders.ts'
import { type HostileBody, range } from './hostile-bodies.ts'

type Shape = JsonSchema & { maxItems?: number; maxProperties?: number; maxLength?: number; enum?: readonly string[] }

/** The objects of a request: large enough for the limits above 100 KB, small enough for etcd. */
const BYTES = 1024 * 1024
/** A list of booleans has more items than any list that a decision reads. */
const MAX_ITEMS = 2 ** 17
const texts = { type: 'string' }
/** The lists and maps of every object. The API server limits annotations to 256 KiB. */
const metadata: JsonSchema = {
  type: 'object',
  properties: {
    labels: { type: 'object', additionalProperties: texts },
    annotations: { type: 'object', additionalProperties: texts, maxProperties: 10_000 } as Shape,
    finalizers: { type: 'array', items: texts },
  },
}

const SOURCES: Record<string, { base: object; schema: object }> = {
  'resource-binding': { base: makeBinding(), schema: bindingSchema },
  'propagation-policy': { base: makePolicy(), schema: policySchema },
  'data-source': { base: makeSource(), schema: dataSourceSchema },
  'data-source-claim': { base: makeClaim(), schema: dataSourceClaimSchema },
  'volume-manager': { base: makeVolumeManager(), schema: volumeManagerSchema },
  pod: {
    base: makePod(range(60).map((i) => ({ name: 'sales', id: `v${i}`, 'mount-path': `/${i}` }))),
    schema: { type: 'object', properties: { spec: podSpecSchema } },
  },
}

/** Returns the paths of all lists and maps of a schema: `spec.clusters[].name` is below the list `spec.clusters`. */
function placesOf(schema: Shape, path = ''): string[] {
  const { properties = {}, items, additionalProperties } = schema
  const below = Object.entries(properties).flatMap(([name, one]) =>
    placesOf(one, path === '' ? name : `${path}.${name}`),
  )
  if (items) return [path, ...placesOf(items, `${path}[]`)]
  if (isObject(additionalProperties)) return [path, ...placesOf(additionalProperties, `${path}[]`)]
  return below
}

type Counts = ReadonlyMap<string, number>

/** Builds a legal value with so many items in the named places. `base` has the other fields. */
function build(schema: Shape, counts: Counts, base: unknown, path = '', index = 0): unknown {
  const { properties, items, additionalProperties, required = [] } = schema
  const isOnWay = [...counts.keys()].some((place) => place.startsWith(path))
  const count = counts.get(path) ?? 1
  if (items) {
    if (!isOnWay) return base ?? []
    return range(Math.min(count, schema.maxItems ?? count)).map((i) => build(items, counts, undefined, `${path}[]`, i))
  }
  if (isObject(additionalProperties)) {
    if (!isOnWay) return base ?? {}
    const most = Math.min(count, schema.maxProperties ?? count)
    const member = (i: number) => [`key-${i}`, build(additionalProperties, counts, undefined, `${path}[]`, i)]
    return { ...(base as object), ...Object.fromEntries(range(most).map(member)) }
  }
  if (properties) {
    const own = isObject(base) ? base : {}
    const below = (name: string) => (path === '' ? name : `${path}.${name}`)
    const names = Object.keys(properties).filter(
      (name) =>
        [...counts.keys()].some((place) => `${place}.[`.startsWith(below(name))) ||
        (required.includes(name) && !(name in own)),
    )
    const built = names.map((name) => [name, build(properties[name] as Shape, counts, own[name], below(name), index)])
    return { ...own, ...Object.fromEntries(built) }
  }
  return base ?? scalar(schema, index)
}

function scalar({ type, enum: values, maxLength = 40 }: Shape, index: number): unknown {
  if (values) return values[0]
  if (type === 'integer') return 1
  if (type === 'boolean') return true
  return `value-${index}`.slice(0, maxLength)
}

/** Finds the numbers of items with which the object has about so many bytes. Small objects tell how its size grows: it is squared if one place is below the other. */
function countsFor(schema: Shape, base: object, places: readonly string[]): Counts {
  const countsOf = (items: number) => new Map(places.map((place) => [place, items]))
  const bytesOf = (items: number) => JSON.stringify(build(schema, countsOf(items), base)).length
  let items = 8
  let [fewer, bytes] = [bytesOf(items / 2), bytesOf(items)]
  while (bytes < BYTES / 16 && items < MAX_ITEMS) {
    items *= 2
    ;[fewer, bytes] = [bytes, bytesOf(items)]
  }
  const exponent = bytes / fewer > 3 ? 2 : 1
  return countsOf(Math.min(MAX_ITEMS, Math.floor(items * (BYTES / bytes) ** (1 / exponent))))
}

function fromSchema(webhook: string): HostileBody[] {
  const { base, schema: own } = SOURCES[webhook] as { base: object; schema: Shape }
  const schema: Shape = { ...own, properties: { ...own.properties, metadata } }
  const places = [...new Set(placesOf(schema))].filter((place) => !place.startsWith('status'))
  const alone = places.map((place) => [place])
  const pairs = places.flatMap((one, i) => places.slice(i + 1).map((other) => [one, other]))
  return [...alone, ...pairs].map((some) => ({
    name: some.join(' × '),
    webhook,
    size: 1,
    objects: () => [build(schema, countsFor(schema, base, some), base) as object],
  }))
}

/** A workload with this many values in the list of its templates, which asks for 40 volumes with mount paths of this length. */
function workloadBody(kind: WorkloadKind, templates: number, pathLength: number): HostileBody {
  const { type } = kind
  const paths = [...(kind.templates ?? []), ...(kind.podMetadata ?? [])]
  const path = paths.find((one) => one.includes('*')) ?? paths[0] ?? ''
  const template = {
    metadata: { labels: { app: 'app' } },
    spec: { containers: range(path.includes('*') ? 1 : 300).map((i) => ({ name: `c${i}` })) },
  }
  const lists = path.split('*').length - 1
  const at = ([segment, ...rest]: readonly string[]): unknown => {
    if (segment === undefined) return template
    if (segment !== '*') return { [segment]: at(rest) }
    const count = lists < 2 ? templates : rest.includes('*') ? 20 : Math.ceil(templates / 20)
    return range(count).map(() => at(rest))
  }
  const annotation = JSON.stringify(
    range(40).map((i) => ({ name: 'sales', id: `v${i}`, 'mount-path': `/${i}/${'x'.repeat(pathLength)}` })),
  )
  const object = makeObject(apiVersionOf(type), type.kind, 'train', at(pathSegments(path)) as object) as K8sObject
  const written = { ...object, metadata: { ...object.metadata, annotations: { [VOLUMES_ANNOTATION]: annotation } } }
  return {
    name: `${type.kind} of ${type.group}, ${templates} templates, paths of ${pathLength}`,
    webhook: 'workload',
    size: 1,
    objects: () => [written],
  }
}

const workloads = SHIPPED_KINDS.all.filter((kind) => kind.type.kind !== 'Pod' && hasPods(kind))

export const generatedBodies: readonly HostileBody[] = [
  ...Object.keys(SOURCES).flatMap(fromSchema),
  ...workloads.flatMap((kind) => [workloadBody(kind, 500, 5), workloadBody(kind, 400, 900)]),
]
