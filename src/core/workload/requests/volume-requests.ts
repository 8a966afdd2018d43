/** Parses the annotation `lodestone.dev/volumes`: the volumes that a pod requests, and their mount paths. */
import { VOLUMES_ANNOTATION } from '../../../api/lodestone.ts'
import type { FieldError } from '../../../base/field-errors.ts'
import { compileSchema } from '../../../base/schema/schema-errors.ts'

export interface ContainerRequest {
  name: string
  'mount-path'?: string
}

/** One request in the annotation. Its fields have the names of VCK's unmerged webhook (IntelAI/vck#61); Lodestone adds some. */
export interface VolumeRequest {
  /** The name of a VolumeManager in the pod's namespace. */
  name: string
  /** The id of one of its volumes; if absent, the first volume. */
  id?: string
  /** The shard of the volume that the pod needs: a name in `distributionStrategy`. */
  shard?: string
  /** Required (default): the pod runs only on nodes with the data. Preferred: the scheduler prefers these nodes. */
  enforcement?: 'Required' | 'Preferred'
  readOnly?: boolean
  /** The mount path for every container without its own. */
  'mount-path'?: string
  /** The containers that mount the volume; if absent or empty, all containers. */
  containers?: ContainerRequest[]
}

/** A request and its path, for messages: `metadata.annotations[lodestone.dev/volumes][0]`. */
export interface PlacedRequest {
  path: string
  request: VolumeRequest
}

export type ParsedRequests = { requests: PlacedRequest[] } | { errors: FieldError[] }

/** The maximum number of volumes that a pod requests, and of containers that a request names. */
const MAX_REQUESTS = 64
/** In characters: enough for the maximum number of requests with their containers. */
const MAX_ANNOTATION_LENGTH = 64 * 1024

const text = { type: 'string', minLength: 1, maxLength: 1024 }
const schema = {
  type: 'object',
  required: ['name'],
  properties: {
    name: text,
    id: text,
    shard: text,
    enforcement: { enum: ['Required', 'Preferred'] },
    readOnly: { type: 'boolean' },
    'mount-path': text,
    containers: {
      type: 'array',
      maxItems: MAX_REQUESTS,
      items: { type: 'object', required: ['name'], properties: { name: text, 'mount-path': text } },
    },
  },
}

const validate = compileSchema(schema, 'forbidden')

/**
 * Parses an annotation.
 *
 * @param at the path of the annotations in the object, e.g. `spec.template.metadata.annotations`
 * @returns the requests in their order, or all errors of the annotation
 */
export function parseVolumeRequests(annotation: unknown, at = 'metadata.annotations'): ParsedRequests {
  const root = `${at}[${VOLUMES_ANNOTATION}]`
  if (typeof annotation !== 'string') return { errors: [notText(at)] }
  if (annotation.length > MAX_ANNOTATION_LENGTH) {
    return { errors: [tooLong(root, `must have at most ${MAX_ANNOTATION_LENGTH} characters`)] }
  }
  let value: unknown
  try {
    value = JSON.parse(annotation)
  } catch (error) {
    return { errors: [invalid(root, `is not JSON (${(error as Error).message}); e.g. ${EXAMPLE}`)] }
  }
  if (Array.isArray(value) && value.length === 0) return { errors: [invalid(root, `names no volume; e.g. ${EXAMPLE}`)] }
  if (Array.isArray(value) && value.length > MAX_REQUESTS) {
    return { errors: [tooLong(root, `must have at most ${MAX_REQUESTS} items, has ${value.length}`)] }
  }
  const placed = Array.isArray(value)
    ? value.map((request, i) => ({ path: `${root}[${i}]`, request }))
    : [{ path: root, request: value }]
  const errors = placed.flatMap(({ path, request }) => {
    const wrong = validate(request).map((error) => ({ ...error, ...inWords(error), path: below(path, error.path) }))
    return wrong.length > 0 ? wrong : mountPathErrors({ path, request })
  })
  return errors.length > 0 ? { errors } : { requests: placed }
}

/** @param at see `parseVolumeRequests` */
export function notText(at: string): FieldError {
  return invalid(`${at}[${VOLUMES_ANNOTATION}]`, `must be a string; e.g. ${EXAMPLE}`)
}

const EXAMPLE = '{"name": "mnist", "mount-path": "/data"}'

/** Explains a wrong field name: pods have `mountPath`, so users write it here instead of `mount-path`. */
function inWords({ path, message }: FieldError): Pick<FieldError, 'message'> {
  return { message: path.endsWith('mountPath') ? 'unknown field; use mount-path' : message }
}

function below(path: string, error: string): string {
  return error === '(root)' ? path : `${path}.${error}`
}

function mountPathErrors({ path, request }: PlacedRequest): FieldError[] {
  const given = [
    { at: `${path}.mount-path`, mountPath: request['mount-path'] },
    ...(request.containers ?? []).map((container, i) => ({
      at: `${path}.containers[${i}].mount-path`,
      mountPath: container['mount-path'],
    })),
  ]
  return given.flatMap(({ at, mountPath }) => {
    const problem = mountPath === undefined ? undefined : mountPathProblem(mountPath)
    return problem ? [invalid(at, problem)] : []
  })
}

function mountPathProblem(path: string): string | undefined {
  if (!path.startsWith('/') || path.includes(':') || path.split('/').includes('..')) {
    return 'must be an absolute path without ".." and ":", e.g. /data'
  }
  return /^\/+$/.test(path) ? 'must not be the root of the container, e.g. /data' : undefined
}

function tooLong(path: string, message: string): FieldError {
  return { path, code: 'TooLong', message }
}

function invalid(path: string, message: string): FieldError {
  return { path, code: 'Invalid', message }
}
