// Each field of a third-party CRD that names a Secret or the like is followed, or listed below with the reason why not.
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import type { K8sObject } from '../src/api/meta.ts'
import { pathSegments } from '../src/base/json-path.ts'
import { interpretWorkload } from '../src/core/dependencies/workload.ts'
import { SHIPPED_KINDS } from '../src/core/workload-kinds/kinds.ts'
import fields from './crd-references/fields.json' with { type: 'json' }
import { type ScannedKind, scanCrd } from './crd-references/scan.ts'

const scanned = fields as ScannedKind[]

const CLUSTER_SCOPED = 'it is cluster-scoped: the names are in the namespace of another object'
const OF_A_CONTROLLER = 'a controller creates it in the member'

/** Kinds without an entry in the table of workload kinds. */
const UNKNOWN_KINDS: Record<string, string> = {
  AnalysisRun: OF_A_CONTROLLER,
  ClusterAnalysisTemplate: CLUSTER_SCOPED,
  ClusterServingRuntime: CLUSTER_SCOPED,
  ClusterStorageContainer: CLUSTER_SCOPED,
  ClusterTrainingRuntime: CLUSTER_SCOPED,
  ClusterWorkflowTemplate: CLUSTER_SCOPED,
  ImageListPullJob: 'it has no pods: it pulls images to nodes',
  ImagePullJob: 'it has no pods: it pulls images to nodes',
  LocalModelCache: CLUSTER_SCOPED,
  LocalModelNamespaceCache: 'it has no pods: it caches models on nodes',
  LocalModelNode: CLUSTER_SCOPED,
  LocalModelNodeGroup: CLUSTER_SCOPED,
  NodeImage: CLUSTER_SCOPED,
  WorkflowArtifactGCTask: OF_A_CONTROLLER,
  WorkflowEventBinding: 'it has no pods: the Argo server creates Workflows from it',
  WorkflowTaskResult: OF_A_CONTROLLER,
  WorkflowTaskSet: OF_A_CONTROLLER,
}

/** Fields that are called like a reference to an object. */
const NO_REFERENCES: Record<string, string> = {
  '.oss.securityToken': 'it is the token itself',
  '.oauth2.clientSecret': 'it is the secret itself',
  '.memoize.cache.configMap.name': 'the controller creates the ConfigMap and writes its results there',
  'spec.configMapSpecs[*].name': 'the operator creates the ConfigMap',
}

const isListed = (path: string) => Object.keys(NO_REFERENCES).some((end) => path.endsWith(end))
const known = scanned.filter(({ kind }) => !(kind in UNKNOWN_KINDS))
const titled = known.map((entry) => ({ title: `${entry.group} ${entry.kind} (${entry.source})`, ...entry }))

/** The value at a path, in objects and lists of one member. */
function nested(path: string, value: unknown): Record<string, unknown> {
  const wrapped = pathSegments(path).reduceRight((inner, segment, i, all) => {
    if (segment !== '*') return { [segment]: inner }
    return path.split('.').some((part) => part.startsWith(`${all[i - 1]}[`)) ? [inner] : { any: inner }
  }, value)
  return wrapped as Record<string, unknown>
}

/** Returns the objects that a workload with only this value needs, as `Kind name`. */
function needsOf({ group, kind, versions: [version] }: ScannedKind, path: string, value: unknown): string[] {
  const { spec } = nested(path, value) as { spec: object }
  const { namespaced } = SHIPPED_KINDS.find(`${group}/${version}`, kind)?.type ?? {}
  const object = {
    apiVersion: `${group}/${version}`,
    kind,
    metadata: { name: 'w', ...(namespaced && { namespace: 'ns' }) },
    // A cluster-scoped SidecarSet names the namespace of its pods.
    spec: { ...spec, ...(!namespaced && { namespace: 'ns' }) },
  }
  return interpretWorkload(object as K8sObject, SHIPPED_KINDS).dependencies.references.map(
    (one) => `${one.kind} ${one.name}`,
  )
}

const container = { name: 'c', image: 'i', envFrom: [{ secretRef: { name: 'found' } }] }
const podSpec = { containers: [container] }

/** The kind of object that a field names: its name says it, or that of the field above. */
function kindNamedBy(path: string): string {
  const name = path.split('.').findLast((part) => !['name', 'ref', '*'].includes(part)) ?? ''
  const words: [RegExp, string][] = [
    [/secret/i, 'Secret'],
    [/configMap|^config$/i, 'ConfigMap'],
    [/serviceAccount/i, 'ServiceAccount'],
    [/claim|^pvc$/i, 'PersistentVolumeClaim'],
  ]
  return words.find(([word]) => word.test(name))?.[1] ?? 'unknown'
}

describe.each(titled)('$title', (entry) => {
  const { podSpecs = [], containers = [], opaque = [], names = [], versions } = entry
  const missing = (paths: string[], value: unknown, want: (path: string) => string) =>
    paths.filter((path) => !isListed(path) && !needsOf(entry, path, value).includes(want(path)))

  test('is in the table, with all versions of the CRD', () => {
    const { version = '', otherVersions = [] } =
      SHIPPED_KINDS.find(`${entry.group}/${versions[0]}`, entry.kind)?.type ?? {}
    expect([version, ...otherVersions]).toEqual(expect.arrayContaining(versions))
  })

  test('has pods whose Secrets follow', () => {
    expect(missing(podSpecs, podSpec, () => 'Secret found')).toEqual([])
    expect(missing(containers, container, () => 'Secret found')).toEqual([])
    const template = { spec: { ...podSpec, template: { spec: podSpec } } }
    const pods = opaque.filter((path) => !path.endsWith('volumeClaimTemplates'))
    expect(missing(pods, template, () => 'Secret found')).toEqual([])
  })

  test('names objects that follow', () => {
    expect(missing(names, 'found', (path) => `${kindNamedBy(path)} found`)).toEqual([])
  })
})

describe('the reasons', () => {
  test.each(Object.keys(UNKNOWN_KINDS))('%s is in a CRD, and not in the table', (kind) => {
    const entry = scanned.find((one) => one.kind === kind)
    expect(entry).toBeDefined()
    expect(SHIPPED_KINDS.find(`${entry?.group}/v1`, kind)).toBeUndefined()
  })

  test.each(Object.keys(NO_REFERENCES))('a field %s exists', (end) => {
    expect(known.some(({ names = [] }) => names.some((path) => path.endsWith(end)))).toBe(true)
  })
})

describe('the search in a CRD', () => {
  const crd = (schema: string) => ({
    kind: 'CustomResourceDefinition',
    spec: {
      group: 'example.com',
      names: { kind: 'Gadget' },
      scope: 'Namespaced',
      versions: [{ name: 'v1', schema: { openAPIV3Schema: { properties: { spec: parse(schema) } } } }],
    },
  })
  const text = '{ type: string }'
  const of = (field: string) => `{ properties: { ${field} } }`

  test.each([
    [
      'a name by its field',
      `{ properties: { license: ${of(`secretName: ${text}`)} } }`,
      { names: ['spec.license.secretName'] },
    ],
    [
      'a name by the field above',
      of(`sslSecret: ${of(`name: ${text}, key: ${text}`)}`),
      { names: ['spec.sslSecret.name'] },
    ],
    [
      'a name by the field above its reference',
      of(`pvc: ${of(`ref: ${of(`name: ${text}`)}`)}`),
      { names: ['spec.pvc.ref.name'] },
    ],
    ['a list of names', of(`pullSecrets: { items: ${text} }`), { names: ['spec.pullSecrets[*]'] }],
    [
      'names by variables',
      of(`secretRefs: { additionalProperties: ${of(`name: ${text}`)} }`),
      { names: ['spec.secretRefs.*.name'] },
    ],
    ['a pod spec', of(`pod: ${of(`containers: { items: ${of(`image: ${text}`)} }`)}`), { podSpecs: ['spec.pod'] }],
    ['a container', of(`server: ${of(`env: { items: ${of('valueFrom: {}')} }`)}`), { containers: ['spec.server'] }],
    [
      'a template without a schema',
      of('template: { x-kubernetes-preserve-unknown-fields: true }'),
      { opaque: ['spec.template'] },
    ],
  ])('finds %s', (_name, schema, want) => {
    expect(scanCrd(crd(schema), 'gadgets-v1')).toEqual({
      source: 'gadgets-v1',
      group: 'example.com',
      kind: 'Gadget',
      scope: 'Namespaced',
      versions: ['v1'],
      ...want,
    })
  })

  test.each([
    ['a key or a type', of(`secretKey: ${text}, secretType: ${text}`)],
    ['a switch', of('automountServiceAccountToken: { type: boolean }')],
    ['a status', of(`status: ${of(`secretName: ${text}`)}`)],
  ])('does not find %s', (_name, schema) => {
    expect(scanCrd(crd(schema), 'gadgets-v1')).toBeUndefined()
  })

  test('ignores other objects', () => {
    expect(scanCrd(parse('{ kind: Deployment }'), 'gadgets-v1')).toBeUndefined()
  })
})
