/** Decides on a workload that requests volumes: rejects it if its pods would be rejected, and labels its pod templates for admission. */
import { INJECT_LABEL, VOLUMES_ANNOTATION } from '../../api/lodestone.ts'
import type { K8sObject } from '../../api/meta.ts'
import type { PodTemplate } from '../../api/pod.ts'
import { valuesAt } from '../dependencies/json-path.ts'
import type { FieldError } from '../field-errors.ts'
import { isObject, jsonEqual } from '../json.ts'
import { cut, type Outcome } from '../outcome.ts'
import { isDaemonSet, narrowDaemonSet } from './daemon-set.ts'
import { injectVolumes } from './inject.ts'
import { MAX_TEMPLATES, type MountCount, mountCountErrors } from './limits.ts'
import type { VolumeManagerLookup } from './mountable-volumes.ts'
import { unknownContainers } from './mounts.ts'
import { operatingSystemErrors } from './operating-system.ts'
import { resolveRequests, type WantedVolume } from './resolve.ts'
import { type PlacedTemplate, templatesOf, withValueAt } from './templates.ts'
import { type ParsedRequests, parseVolumeRequests } from './volume-requests.ts'

export interface WorkloadInput {
  object: K8sObject
  /** The stored workload; absent if the request creates it. */
  stored: K8sObject | undefined
  /** The paths of its pod templates (core/dependencies/kinds.ts). */
  templatePaths: readonly string[]
  managers: VolumeManagerLookup
  /** On a hub, only the VolumeManagers of the member clusters are relevant. */
  isHub: boolean
}

/** Kinds whose pod templates are immutable (pkg/apis/batch/validation; Volcano's own webhook). */
const UNCHANGEABLE: ReadonlySet<string> = new Set(['batch/v1 Job', 'batch.volcano.sh/v1alpha1 Job'])

/**
 * Decides on a workload. The annotation of the workload itself applies to all of its pods, unless a template has its own.
 *
 * A workload that has a controller as owner is not changed, since its owner was decided already. The controller would revert each change.
 */
export function decideWorkload(input: WorkloadInput): Outcome {
  const { object, stored, templatePaths } = input
  if (object.metadata.deletionTimestamp || object.metadata.ownerReferences?.some(({ controller }) => controller)) {
    return { kind: 'allow' }
  }
  const tooManyTemplates = templateCountErrors(object, templatePaths)
  if (tooManyTemplates.length > 0) {
    // A stored workload with too many templates is not rejected, since otherwise no user could change it.
    const wasStored = stored && templateCountErrors(stored, templatePaths).length > 0
    return wasStored ? { kind: 'allow' } : { kind: 'deny', errors: tooManyTemplates }
  }
  const templates = templatesOf(object, templatePaths)
  if (stored && isSame(object, templates, stored, templatePaths)) return { kind: 'allow' }
  if (stored && UNCHANGEABLE.has(`${object.apiVersion} ${object.kind}`)) {
    const warning = `lodestone: the pod template of a ${object.kind} is immutable; recreate the ${object.kind} to change its volumes`
    return { kind: 'allow', warnings: [warning] }
  }
  const requests = templates.flatMap((placed) => requestOf(placed, object, stored) ?? [])
  const [first] = requests
  const parsed = parseAll(requests)
  const tooLarge = first ? mountCountErrors(annotationPath(first), countsOf(parsed)) : []
  if (tooLarge.length > 0) return { kind: 'deny', errors: tooLarge }
  const checks = parsed.map((request) => check(request, input))
  const errors = distinct(checks.flatMap((found) => found.errors))
  const warnings = distinct(checks.flatMap((found) => found.warnings)).map((text) => cut(`lodestone: ${text}`))
  if (errors.length > 0) return { kind: 'deny', errors, ...(warnings.length > 0 && { warnings }) }
  const labeled = requests.reduce((whole, request) => withRequest(whole, request), object)
  const changed = parsed.reduce((whole, request, i) => withNodes(whole, request, checks[i]?.wanted), labeled)
  if (changed === object) return { kind: 'allow', ...(warnings.length > 0 && { warnings }) }
  return {
    kind: 'patch',
    object: changed,
    ...(warnings.length > 0 && { warnings }),
    auditAnnotations: { decision: 'Labeled', reason: `its pods get their volumes when they are created` },
  }
}

/** The path of the annotations of the workload itself. */
const OWN_ANNOTATIONS = 'metadata.annotations'

interface TemplateRequest extends PlacedTemplate {
  annotation: string
  /** The path of the annotation: in the template, or in the workload's own metadata for all templates. */
  writtenAt: string
}

function isSame(
  object: K8sObject,
  templates: readonly PlacedTemplate[],
  stored: K8sObject,
  paths: readonly string[],
): boolean {
  return (
    ownAnnotation(object) === ownAnnotation(stored) &&
    jsonEqual(
      templates.map(({ template }) => template),
      templatesOf(stored, paths).map(({ template }) => template),
    )
  )
}

/** The request for the pods of a template; undefined if they request nothing or opt out. */
function requestOf(
  placed: PlacedTemplate,
  object: K8sObject,
  stored: K8sObject | undefined,
): TemplateRequest | undefined {
  const { labels, annotations } = placed.template.metadata ?? {}
  if ((labels?.[INJECT_LABEL] ?? 'true') !== 'true') return undefined
  const own = ownAnnotation(object)
  const inTemplate = annotations?.[VOLUMES_ANNOTATION]
  // If the template has the workload's old annotation, it is our copy: the new annotation replaces it.
  const isCopy = own !== undefined && stored !== undefined && inTemplate === ownAnnotation(stored)
  if (inTemplate !== undefined && !isCopy) {
    return { ...placed, annotation: inTemplate, writtenAt: `${placed.path}.metadata.annotations` }
  }
  return own === undefined ? undefined : { ...placed, annotation: own, writtenAt: OWN_ANNOTATIONS }
}

function ownAnnotation({ metadata }: K8sObject): string | undefined {
  return metadata.annotations?.[VOLUMES_ANNOTATION]
}

interface ParsedTemplateRequest extends TemplateRequest {
  parsed: ParsedRequests
}

/** Parses each annotation once, since that of the workload applies to all of its templates. */
function parseAll(requests: readonly TemplateRequest[]): ParsedTemplateRequest[] {
  const ofWorkload = new Map<string, ParsedRequests>()
  return requests.map((request) => {
    const { annotation, writtenAt } = request
    if (writtenAt !== OWN_ANNOTATIONS) return { ...request, parsed: parseVolumeRequests(annotation, writtenAt) }
    const parsed = ofWorkload.get(annotation) ?? parseVolumeRequests(annotation, writtenAt)
    ofWorkload.set(annotation, parsed)
    return { ...request, parsed }
  })
}

function annotationPath({ writtenAt }: TemplateRequest): string {
  return `${writtenAt}[${VOLUMES_ANNOTATION}]`
}

/** Returns an error if a workload that requests volumes has too many pod templates to check. */
function templateCountErrors(object: K8sObject, paths: readonly string[]): FieldError[] {
  const count = paths.reduce((sum, path) => sum + valuesAt(object, path).length, 0)
  if (count <= MAX_TEMPLATES) return []
  const inTemplates = paths.flatMap((path) => valuesAt(object, `${path}.metadata.annotations`)).some(hasRequest)
  if (!hasRequest(object.metadata.annotations) && !inTemplates) return []
  const message = `the workload has ${count} pod templates, more than ${MAX_TEMPLATES}; divide it`
  return [{ path: `${OWN_ANNOTATIONS}[${VOLUMES_ANNOTATION}]`, code: 'TooLong', message }]
}

function hasRequest(annotations: unknown): boolean {
  return isObject(annotations) && annotations[VOLUMES_ANNOTATION] !== undefined
}

function countsOf(requests: readonly ParsedTemplateRequest[]): MountCount[] {
  return requests.flatMap(({ template, parsed }) =>
    'requests' in parsed ? [{ spec: template.spec, requests: parsed.requests }] : [],
  )
}

/** Returns the errors that the pods would get. A missing VolumeManager is only a warning, since manifests are applied in any order. */
function check(
  { path, template, parsed }: ParsedTemplateRequest,
  { managers, isHub }: WorkloadInput,
): { errors: FieldError[]; warnings: string[]; wanted?: readonly WantedVolume[] } {
  if ('errors' in parsed) return { errors: parsed.errors, warnings: [] }
  const { wanted, errors, unusable } = resolveRequests(parsed.requests, managers)
  const injected = injectVolumes(template.spec, wanted, `${path}.spec`)
  const { containers, initContainers } = template.spec
  const found = new Set(wanted.map((one) => one.path))
  const unresolved = parsed.requests.filter((one) => !found.has(one.path))
  return {
    errors: [
      ...operatingSystemErrors(template.spec, `${path}.spec`),
      ...errors,
      ...('errors' in injected ? injected.errors : []),
      ...unknownContainers([...containers, ...(initContainers ?? [])], unresolved),
    ],
    warnings: isHub ? [] : unusable.map(({ message }) => message),
    // Until all volumes are known, the nodes of a DaemonSet stay as they are. On a hub, the member narrows it.
    ...(unresolved.length === 0 && !isHub && { wanted }),
  }
}

function withRequest(whole: K8sObject, { keys, template, annotation }: TemplateRequest): K8sObject {
  const { labels, annotations, ...metadata } = template.metadata ?? {}
  if (labels?.[INJECT_LABEL] === 'true' && annotations?.[VOLUMES_ANNOTATION] === annotation) return whole
  const changed: PodTemplate['metadata'] = {
    ...metadata,
    labels: { ...labels, [INJECT_LABEL]: 'true' },
    annotations: { ...annotations, [VOLUMES_ANNOTATION]: annotation },
  }
  return withValueAt(whole, [...keys, 'metadata'], changed)
}

/** Narrows a DaemonSet to the nodes with the volumes of its pods. */
function withNodes(whole: K8sObject, { keys, path, template }: PlacedTemplate, wanted?: readonly WantedVolume[]) {
  return wanted && isDaemonSet(whole) ? narrowDaemonSet(whole, { keys, path, template }, wanted) : whole
}

function distinct<T>(items: readonly T[]): T[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()]
}
