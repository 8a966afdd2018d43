/** Finds the fields of a CRD that name another object, or have the form of a pod spec or a container. */

/** The part of a JSON schema that the search reads. */
export interface Schema {
  type?: string
  properties?: Record<string, Schema>
  items?: Schema
  additionalProperties?: Schema | boolean
  'x-kubernetes-preserve-unknown-fields'?: boolean
}

/** Paths of one kind, as in the table of workload kinds: `.*` is any member, `[*]` any item. */
export interface Fields {
  /** Objects with containers or volumes. */
  podSpecs: string[]
  /** Objects with `env` or `envFrom`, outside of pod specs. */
  containers: string[]
  /** Templates whose content the CRD does not describe. */
  opaque: string[]
  /** Strings whose field is called like a reference; for a field `name`, its parent. */
  names: string[]
}

/** A kind with the fields of all its versions. */
export interface ScannedKind extends Partial<Fields> {
  /** The project and its version. */
  source: string
  group: string
  kind: string
  scope: string
  versions: string[]
}

interface CustomResourceDefinition {
  kind: 'CustomResourceDefinition'
  spec: {
    group: string
    names: { kind: string }
    scope: string
    versions: { name: string; schema?: { openAPIV3Schema?: Schema } }[]
  }
}

/** Words in the names of fields that refer to objects. */
const REFERENCE = /secret|config-?map|service-?account|credential|claim|token|pvcRef|configRef/i
/** Ends of such names that are no references, and fields beside the name of an object. */
const NO_REFERENCE = /(key|type|path|mode|url|file|field|template|policy|namespace|apiVersion|apiGroup|kind)$/i
/** Standard objects, wherever they are. Devices are claimed of another API. The status names nothing that a workload needs. */
const SKIPPED =
  /^(status|resources|resourcesPerNode|podResources|resourceClaims|securityContext|podSecurityContext|.*Probe|affinity)$/
/** The fields of a pod spec that name objects, or lead to them. */
const POD_FIELDS = [
  'containers',
  'initContainers',
  'ephemeralContainers',
  'volumes',
  'serviceAccountName',
  'serviceAccount',
]
const CONTAINER_FIELDS = ['env', 'envFrom']
/** A kind with more paths, such as a Workflow, has the same templates in many places. */
const MAX_PATHS = 100

/** Returns the fields of a CRD; undefined for a kind without such fields, and for another object. */
export function scanCrd(object: unknown, source: string): ScannedKind | undefined {
  if (!isCrd(object)) return undefined
  const { group, names, scope, versions } = object.spec
  const found: Fields = { podSpecs: [], containers: [], opaque: [], names: [] }
  for (const { schema } of versions) {
    for (const [name, member] of Object.entries(schema?.openAPIV3Schema?.properties ?? {})) {
      if (!['apiVersion', 'kind', 'metadata', 'status'].includes(name)) visit(member, name, name, found)
    }
  }
  const fields = Object.entries(found).flatMap(([field, paths]) =>
    paths.length > 0 ? [[field, folded([...new Set<string>(paths)].sort())]] : [],
  )
  if (fields.length === 0) return undefined
  return {
    source,
    group,
    kind: names.kind,
    scope,
    versions: versions.map(({ name }) => name),
    ...Object.fromEntries(fields),
  }
}

function isCrd(object: unknown): object is CustomResourceDefinition {
  const { kind, spec } = (object ?? {}) as Partial<CustomResourceDefinition>
  return kind === 'CustomResourceDefinition' && spec?.names !== undefined
}

/** Of many paths, one for each ending of three fields. */
function folded(paths: string[]): string[] {
  if (paths.length <= MAX_PATHS) return paths
  const byEnding = new Map(paths.toReversed().map((path) => [path.split('.').slice(-3).join('.'), path]))
  return [...byEnding.values()].sort()
}

/** @param name the name of the field, with that of its parent for a field `name` or `ref` */
function visit(schema: Schema, path: string, name: string, found: Fields): void {
  const { type, properties = {}, items, additionalProperties } = schema
  if (type === 'string') {
    const [field = ''] = path.split('.').reverse()
    if (REFERENCE.test(name) && !NO_REFERENCE.test(name) && !NO_REFERENCE.test(field)) found.names.push(path)
    return
  }
  const isPodSpec = hasItemsWith(properties['containers'], 'image') || hasItemsWith(properties['volumes'], 'configMap')
  const isContainer = hasItemsWith(properties['env'], 'valueFrom') || hasItemsWith(properties['envFrom'], 'secretRef')
  if (isPodSpec) found.podSpecs.push(path)
  if (isContainer) found.containers.push(path)
  if (isOpaque(schema) && /template/i.test(name)) found.opaque.push(path)
  for (const [field, member] of Object.entries(properties)) {
    if (SKIPPED.test(field) || (isPodSpec && isPodField(field, member))) continue
    if (isContainer && CONTAINER_FIELDS.includes(field)) continue
    visit(member, `${path}.${field}`, nameBy(field, name), found)
  }
  if (items) visit(items, `${path}[*]`, name, found)
  if (typeof additionalProperties === 'object') visit(additionalProperties, `${path}.*`, name, found)
}

function nameBy(field: string, parent: string): string {
  if (field === 'name') return parent
  return field === 'ref' ? `${parent}Ref` : field
}

/** Spark has a list of names in `imagePullSecrets`. */
function isPodField(field: string, { items }: Schema): boolean {
  return POD_FIELDS.includes(field) || (field === 'imagePullSecrets' && items?.type === 'object')
}

function hasItemsWith(list: Schema | undefined, field: string): boolean {
  return list?.items?.properties?.[field] !== undefined
}

function isOpaque({ properties, items, 'x-kubernetes-preserve-unknown-fields': preserved }: Schema): boolean {
  return preserved === true && properties === undefined && items === undefined
}
