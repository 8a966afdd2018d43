/** Finds annotations and labels of Lodestone that have no effect: a mistyped key or value, or a key of another kind. */
import { dataSources } from '../../../api/data-source.ts'
import { dataSourceClaims } from '../../../api/data-source-claim.ts'
import { clusterPropagationPolicies, propagationPolicies } from '../../../api/karmada.ts'
import { multiKueueClusters } from '../../../api/kueue.ts'
import {
  ALLOW_CLAIMS_FROM_ANNOTATION,
  CHECK_ANNOTATION,
  CLUSTER_NAME_ANNOTATION,
  DELETE_IN_USE_ANNOTATION,
  DEPENDS_ON_ANNOTATION,
  ENFORCE_CLAIMS,
  ENFORCE_LABEL,
  INJECT_LABEL,
  MOVER_LABEL,
  MOVER_SLOT_LABEL,
  PROPAGATE_DEPS_ANNOTATION,
  PROPAGATE_DEPS_SET_ANNOTATION,
  REFRESH_ANNOTATION,
  REQUIRES_CLAIM_ANNOTATION,
  VOLUME_LABEL,
  VOLUMES_ANNOTATION,
} from '../../../api/lodestone.ts'
import type { K8sObject, ResourceType } from '../../../api/meta.ts'
import { namespaces } from '../../../api/namespace.ts'
import { volumeManagers } from '../../../api/volume-manager.ts'
import { labelProblem } from '../../../base/names.ts'
import { suggest } from '../../../base/suggest.ts'
import { MAX_CLUSTER_NAME_LENGTH } from '../../../core/data-source/validate.ts'
import { readClaimGrant } from '../../../core/data-source-claim/grant.ts'
import { type PodMetadata, podPlacesOf } from '../../../core/workload/requests/templates.ts'
import type { WorkloadKinds } from '../../../core/workload-kinds/kinds.ts'
import type { Manifest } from '../../../store/folder/manifests.ts'
import { fieldPlace, objectTitle } from '../input/place-manifests.ts'
import { hasType } from '../input/validate-manifest.ts'
import { type Finding, finding } from './findings.ts'

/** The keys of a kind, each with the values that have an effect, or with a function that returns the problem of a value. */
type Keys = Readonly<Record<string, readonly string[] | ((value: string) => string | undefined)>>

interface PlaceKeys {
  annotations?: Keys
  labels?: Keys
}

interface KindKeys extends PlaceKeys {
  types: readonly ResourceType[]
}

const FLAG = ['true', 'false']
const any = () => undefined

/** The kinds that users annotate, without workloads and pods. */
const KINDS: readonly KindKeys[] = [
  {
    types: [propagationPolicies, clusterPropagationPolicies],
    annotations: {
      [REQUIRES_CLAIM_ANNOTATION]: FLAG,
      [PROPAGATE_DEPS_ANNOTATION]: FLAG,
      [PROPAGATE_DEPS_SET_ANNOTATION]: FLAG,
    },
  },
  {
    types: [namespaces],
    annotations: { [ALLOW_CLAIMS_FROM_ANNOTATION]: grantProblem },
    labels: { [ENFORCE_LABEL]: [...FLAG, ENFORCE_CLAIMS] },
  },
  {
    types: [volumeManagers],
    annotations: { [DELETE_IN_USE_ANNOTATION]: FLAG, [CHECK_ANNOTATION]: any, [REFRESH_ANNOTATION]: any },
  },
  { types: [dataSourceClaims, dataSources] },
  { types: [multiKueueClusters], annotations: { [CLUSTER_NAME_ANNOTATION]: clusterNameProblem } },
]

/** The annotations of workloads. Only their names count here: admission itself warns about mistakes in them. */
const ANNOTATIONS: Keys = { [VOLUMES_ANNOTATION]: any, [DEPENDS_ON_ANNOTATION]: any }
/** Users label pods and pod templates. The other labels are those of mover pods. */
const OF_PODS: Keys = { [INJECT_LABEL]: FLAG, [VOLUME_LABEL]: any, [MOVER_LABEL]: any, [MOVER_SLOT_LABEL]: any }

const DOMAIN = 'lodestone.dev/'

/** Labels and annotations of an object, or of the pods in it. */
interface Place {
  path: string
  metadata: PodMetadata
  keys: PlaceKeys
}

/** Returns a finding for each label and annotation of Lodestone that has no effect on this kind, or has such a value. */
export function annotationFindings(manifest: Manifest, workloads: WorkloadKinds): Finding[] {
  const { object } = manifest
  return placesOf(object, workloads).flatMap(({ path, metadata, keys }) =>
    (['annotations', 'labels'] as const).flatMap((field) =>
      Object.entries((keys[field] && metadata[field]) ?? {}).flatMap(([key, value]) => {
        const problem = isOther(key, field, keys)
          ? otherProblem(field)
          : keyProblem(key, String(value), keys[field] ?? {})
        const at = `${path}.${field}[${key}]`
        return problem === undefined
          ? []
          : [finding('ineffective-annotation', `${at}: ${problem}`, fieldPlace(manifest, at), objectTitle(object))]
      }),
    ),
  )
}

/** The annotations of workloads are left out: admission warns about them. */
function placesOf(object: K8sObject, workloads: WorkloadKinds): Place[] {
  const { metadata } = object
  const known = KINDS.find(({ types }) => types.some((type) => hasType(type, object)))
  if (known) return [{ path: 'metadata', metadata, keys: { annotations: {}, labels: {}, ...known } }]
  const kind = workloads.find(object.apiVersion, object.kind)
  if (!kind) return []
  const ofPods = podPlacesOf(object, kind).map((place) => ({ ...place, keys: { labels: OF_PODS } }))
  const isPod = ofPods.some(({ path }) => path === 'metadata')
  return isPod ? ofPods : [{ path: 'metadata', metadata, keys: { labels: {} } }, ...ofPods]
}

/** Whether a label has the key of an annotation, or an annotation that of a label. */
function isOther(key: string, field: keyof PlaceKeys, { annotations = ANNOTATIONS, labels = {} }: PlaceKeys): boolean {
  return Object.hasOwn(field === 'labels' ? annotations : labels, key)
}

function otherProblem(field: keyof PlaceKeys): string {
  return field === 'labels' ? 'is an annotation, not a label' : 'is a label, not an annotation'
}

function clusterNameProblem(value: string): string | undefined {
  const problem = labelProblem(value, MAX_CLUSTER_NAME_LENGTH)
  return problem && `no DataSource can name ${JSON.stringify(value)}: ${problem}`
}

function grantProblem(value: string): string | undefined {
  const grant = readClaimGrant({
    apiVersion: 'v1',
    kind: namespaces.kind,
    metadata: { name: '', annotations: { [ALLOW_CLAIMS_FROM_ANNOTATION]: value } },
  })
  return grant?.kind === 'invalid' ? `allows nothing: ${grant.problem}` : undefined
}

function keyProblem(key: string, value: string, keys: Keys): string | undefined {
  const values = Object.hasOwn(keys, key) ? keys[key] : undefined
  if (typeof values === 'function') return values(value)
  if (values) return values.includes(value) ? undefined : `has no effect; write ${values.join(' or ')} in quotes`
  if (!key.includes('lodestone')) return undefined
  const known = Object.keys(keys)
  const isOurs = key.startsWith(DOMAIN)
  // Only the part after our domain is compared: the domain alone would make any two keys similar.
  const hint = isOurs
    ? suggest(
        key.slice(DOMAIN.length),
        known.map((each) => each.slice(DOMAIN.length)),
      ).replace('mean ', `mean ${DOMAIN}`)
    : suggest(key, known)
  return isOurs || hint !== '' ? `has no effect on this kind${hint}` : undefined
}
