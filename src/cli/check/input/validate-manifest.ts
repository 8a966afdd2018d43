/** Validates a manifest with the rules of admission. */
import type { DataSource } from '../../../api/data-source.ts'
import { dataSources } from '../../../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../../api/data-source-claim.ts'
import {
  clusterPropagationPolicies,
  clusterResourceBindings,
  clusters,
  propagationPolicies,
  resourceBindings,
} from '../../../api/karmada.ts'
import { apiVersionOf, groupOf, type K8sObject, type ResourceType } from '../../../api/meta.ts'
import { bindingSchema, clusterSchema, policySchema } from '../../../api/schemas/karmada.ts'
import { type VolumeManager, volumeManagers } from '../../../api/volume-manager.ts'
import { ErrorList, type FieldError } from '../../../base/field-errors.ts'
import { isObject } from '../../../base/json.ts'
import { isLabelKey, isLabelValue, labelProblem, pathSegmentProblem, subdomainProblem } from '../../../base/names.ts'
import { compileSchema } from '../../../base/schema/schema-errors.ts'
import { validateDataSource } from '../../../core/data-source/validate.ts'
import { validateDataSourceClaim } from '../../../core/data-source-claim/validate.ts'
import { DEFAULT_VOLUME_LIMITS } from '../../../core/volume-manager/rules/settings.ts'
import { isVolumeManager, validateVolumeManager } from '../../../core/volume-manager/rules/validate.ts'
import { validatePodSpec } from '../../../core/workload/validate.ts'
import { SHIPPED_ENTRIES } from '../../../core/workload-kinds/kinds.ts'

const validateBinding = compileSchema(bindingSchema)
const validatePolicy = compileSchema(policySchema)

interface Validator {
  type: ResourceType
  validate: (object: K8sObject) => FieldError[]
}

/** The kinds whose webhooks reject invalid objects. */
const reviewed: readonly Validator[] = [
  { type: dataSourceClaims, validate: (object) => validateDataSourceClaim(object as DataSourceClaim) },
  { type: dataSources, validate: (object) => validateDataSource(object as DataSource) },
]

/** The kinds that no webhook of Lodestone rejects: the API server itself validates them. */
const unreviewed: readonly Validator[] = [
  { type: resourceBindings, validate: validateBinding },
  { type: clusterResourceBindings, validate: validateBinding },
  { type: propagationPolicies, validate: validatePolicy },
  { type: clusterPropagationPolicies, validate: validatePolicy },
  { type: clusters, validate: compileSchema(clusterSchema) },
]

const withTemplates = templateValidators()

/** The kinds of Kubernetes with pod templates. An API server may store a custom kind with any template. */
function templateValidators(): Validator[] {
  const builtIn = SHIPPED_ENTRIES.filter(({ group }) => ['', 'apps', 'batch'].includes(group))
  return builtIn.flatMap(({ group, versions: [version = ''], kind, plural, templates = [] }) => {
    const paths = templates.map((path) => (path === '' ? 'spec' : `${path}.spec`))
    const validate = (object: K8sObject) => paths.flatMap((path) => validateTemplate(object, path))
    return paths.length > 0 ? [{ type: { group, version, kind, plural, namespaced: true }, validate }] : []
  })
}

/** Returns the errors of the pod spec at a path; none if the object does not have it. */
function validateTemplate(object: K8sObject, path: string): FieldError[] {
  let value: unknown = object
  const at: string[] = []
  for (const segment of path.split('.')) {
    value = (value as Record<string, unknown>)[segment]
    at.push(segment)
    if (value === undefined) return []
    if (!isObject(value)) return [{ path: at.join('.'), code: 'Invalid', message: 'must be of type object' }]
  }
  return validatePodSpec(value, path)
}

/**
 * Returns all errors of a manifest: for the kinds of Lodestone, and for those of Karmada in the fields that decisions read. Other kinds
 * have none.
 */
export function validateManifest(object: K8sObject): FieldError[] {
  // Any version is validated, because the error for an old one names the current one.
  if (isVolumeManager(object)) return validateManager(object)
  return [...reviewed, ...unreviewed].find(({ type }) => hasType(type, object))?.validate(object) ?? []
}

const LABEL_KEY = 'must be the key of a label, e.g. app.kubernetes.io/name'
const LABEL_VALUE =
  'must be the value of a label: at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends'
const ANNOTATION_KEY = 'must be the key of an annotation, e.g. example.com/owner'

/**
 * Returns the errors of names, labels and annotations, as of apimachinery (pkg/api/validation, ValidateObjectMeta). The names of
 * workloads and of the validated kinds are DNS subdomains. Those of other kinds may have other forms, such as `system:reader`.
 */
export function validateMetadata({ apiVersion, kind, metadata }: K8sObject): FieldError[] {
  const { name, generateName, namespace, labels = {}, annotations = {} } = metadata
  const errors = new ErrorList()
  const add = (path: string, value: string, problem: string | undefined) => {
    const message = `Invalid value: ${JSON.stringify(value)}: ${problem}`
    if (problem) errors.add(() => ({ path, code: 'Invalid', message }))
  }
  const nameProblem = isNamedBySubdomain({ apiVersion, kind }) ? subdomainProblem : pathSegmentProblem
  if (name) add('metadata.name', name, nameProblem(name))
  // A hyphen may be before the random characters.
  if (generateName) add('metadata.generateName', generateName, nameProblem(generateName.replace(/-$/, 'a')))
  if (namespace) add('metadata.namespace', namespace, labelProblem(namespace))
  for (const [key, value] of Object.entries(labels)) {
    add('metadata.labels', key, isLabelKey(key) ? undefined : LABEL_KEY)
    add(`metadata.labels[${key}]`, value, isLabelValue(value) ? undefined : LABEL_VALUE)
  }
  for (const key of Object.keys(annotations)) {
    add('metadata.annotations', key, isLabelKey(key.toLowerCase()) ? undefined : ANNOTATION_KEY)
  }
  return errors.errors()
}

function isNamedBySubdomain({ apiVersion, kind }: Pick<K8sObject, 'apiVersion' | 'kind'>): boolean {
  const group = groupOf(apiVersion)
  const known = [...validatedTypes, volumeManagers, ...SHIPPED_ENTRIES]
  return known.some((type) => type.kind === kind && type.group === group)
}

/** The kinds whose manifests are validated, in the version that is served. VolumeManagers have errors of their own for other versions. */
export const validatedTypes: readonly ResourceType[] = [...reviewed, ...unreviewed].map(({ type }) => type)

/** As `validateManifest`, without the kinds whose webhooks reject invalid objects, and with the pod templates of Kubernetes. */
export function validateUnreviewed(object: K8sObject): FieldError[] {
  return [...unreviewed, ...withTemplates].find(({ type }) => hasType(type, object))?.validate(object) ?? []
}

function validateManager(object: K8sObject): FieldError[] {
  return validateVolumeManager(object as VolumeManager, DEFAULT_VOLUME_LIMITS)
}

/** Whether the object is of this kind and version. */
export function hasType(type: ResourceType, { apiVersion, kind }: K8sObject): boolean {
  return kind === type.kind && apiVersion === apiVersionOf(type)
}
