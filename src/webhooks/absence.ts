/**
 * The policies that the API server applies itself, so that workloads keep to their data while no replica of Lodestone answers. They state facts
 * that hold after each admission by Lodestone. So they reject only writes that it did not see.
 */
import {
  CLAIMED_WORKLOADS_POLICY,
  DECIDED_BINDINGS_POLICY,
  type NamedExpression,
  type ValidatingAdmissionPolicy,
  type ValidatingAdmissionPolicyBinding,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from '../api/admission-policy.ts'
import { dataSourceClaims } from '../api/data-source-claim.ts'
import { clusterResourceBindings, MANAGED_BY_LABEL, resourceBindings } from '../api/karmada.ts'
import { ENFORCE_ALL, ENFORCE_LABEL, ENFORCE_NOTHING, HOLD_ANNOTATION, LOCALITY_ANNOTATION } from '../api/lodestone.ts'
import { apiVersionOf, type LabelSelectorRequirement } from '../api/meta.ts'
import { NAMESPACE_NAME_LABEL } from '../api/namespace.ts'
import { REGISTRATION_LABELS } from '../api/registration.ts'
import { NOT_A_SYSTEM_NAMESPACE, notExcluded, type Registration } from './registration.ts'

type Spec = ValidatingAdmissionPolicy['spec']

interface PolicyTerms extends Pick<Registration, 'excludedNamespaces'> {
  /** Namespaces with so many claims that the second policy does not apply to them (core/admission/exempt-namespaces.ts). */
  exemptNamespaces?: readonly string[]
}

/** Returns the policies for bindings. They skip the namespaces that the webhooks skip. */
export function absencePolicies({
  excludedNamespaces,
  exemptNamespaces = [],
}: PolicyTerms): ValidatingAdmissionPolicy[] {
  const constraints = (
    types: readonly { plural: string }[],
    operations: ('CREATE' | 'UPDATE')[],
    scope: 'Namespaced' | '*',
    matchExpressions: LabelSelectorRequirement[],
  ): Spec['matchConstraints'] => ({
    matchPolicy: 'Equivalent',
    namespaceSelector: { matchExpressions },
    resourceRules: [
      {
        apiGroups: [resourceBindings.group],
        apiVersions: [resourceBindings.version],
        resources: types.map(({ plural }) => plural),
        operations,
        scope,
      },
    ],
  })
  return [
    policy(DECIDED_BINDINGS_POLICY, {
      matchConstraints: constraints(
        [clusterResourceBindings, resourceBindings],
        ['CREATE', 'UPDATE'],
        '*',
        notExcluded({ excludedNamespaces }),
      ),
      ...decided(),
    }),
    policy(CLAIMED_WORKLOADS_POLICY, {
      matchConstraints: constraints([resourceBindings], ['UPDATE'], 'Namespaced', [
        ...notExcluded({ excludedNamespaces: [...excludedNamespaces, ...exemptNamespaces] }),
        NOT_DECLINED,
      ]),
      ...claimed(),
    }),
  ]
}

/** With `true`, the webhooks reject every write of a binding without Lodestone. */
const NOT_DECLINED: LabelSelectorRequirement = {
  key: ENFORCE_LABEL,
  operator: 'NotIn',
  values: [ENFORCE_NOTHING, ENFORCE_ALL],
}

/** Returns the exempt namespaces of a stored policy. */
export function exemptNamespacesOf(
  { spec }: ValidatingAdmissionPolicy,
  { excludedNamespaces }: Pick<Registration, 'excludedNamespaces'>,
): string[] {
  const [{ values = [] } = {}] = (spec.matchConstraints.namespaceSelector?.matchExpressions ?? []).filter(
    ({ key, operator }) => key === NAMESPACE_NAME_LABEL && operator === 'NotIn',
  )
  return values.filter((name) => !excludedNamespaces.includes(name))
}

/** Returns the objects that put the policies into effect. Their `validationActions` are a choice of the administrator. */
export function absencePolicyBindings(): ValidatingAdmissionPolicyBinding[] {
  return [
    policyBinding(DECIDED_BINDINGS_POLICY, {}),
    // Of the namespace of the request. Without a claim in it, there is nothing to check.
    policyBinding(CLAIMED_WORKLOADS_POLICY, { paramRef: { selector: {}, parameterNotFoundAction: 'Allow' } }),
  ]
}

/** On a binding on which Lodestone has decided. Our annotations are JSON, so a quote within a text follows a backslash. */
function decided(): Omit<Spec, 'failurePolicy' | 'matchConstraints'> {
  const within = (affinity: string) =>
    all(
      `has(${affinity}.clusterNames)`,
      `${affinity}.clusterNames.size() > 0`,
      `${affinity}.clusterNames.all(name, name in variables.data)`,
    )
  return {
    matchConditions: [...CONDITIONS, { name: 'lodestone-has-decided', expression: isDecided('object') }],
    variables: [
      { name: 'locality', expression: annotation(LOCALITY_ANNOTATION, 'object') },
      {
        name: 'localityBefore',
        expression: `oldObject == null ? '' : (${annotation(LOCALITY_ANNOTATION, 'oldObject')})`,
      },
      { name: 'hold', expression: annotation(HOLD_ANNOTATION, 'object') },
      { name: 'isNarrowed', expression: narrows('variables.locality') },
      { name: 'wasNarrowed', expression: narrows('variables.localityBefore') },
      {
        name: 'data',
        expression: `variables.isNarrowed ? variables.locality.split('"required":["')[1].split('"]')[0].split('","') : []`,
      },
      {
        name: 'affinities',
        expression: `(has(object.spec.placement.clusterAffinity) ? [dyn(object.spec.placement.clusterAffinity)] : [])
+ (has(object.spec.placement.clusterAffinities) ? dyn(object.spec.placement.clusterAffinities) : [])`,
      },
      // Only of an update: a binding that is restored from a backup may have its clusters.
      { name: 'becomesScheduled', expression: `oldObject != null && ${BECOMES_SCHEDULED}` },
      { name: 'isOnHold', expression: all(`variables.hold != ''`, `!variables.hold.contains('"released":true')`) },
    ],
    validations: [
      {
        expression: any(
          '!variables.isNarrowed',
          all(
            'variables.affinities.size() > 0',
            `variables.affinities.all(one, ${all(within('one'), any('!has(one.overflowAffinities)', `one.overflowAffinities.all(tier, ${within('tier')})`))})`,
          ),
        ),
        messageExpression: `'the placement allows clusters without the data of the workload, which is in ' + variables.data.join(', ')${LATER}`,
        reason: 'Forbidden',
      },
      {
        expression: any(
          '!variables.isOnHold',
          all(
            'has(object.spec.suspension)',
            'has(object.spec.suspension.scheduling)',
            'object.spec.suspension.scheduling',
          ),
        ),
        messageExpression: `'the workload is on hold until its data has a location'${LATER}`,
        reason: 'Forbidden',
      },
      {
        expression: any('!variables.isOnHold', '!variables.becomesScheduled'),
        messageExpression: `'the workload is on hold until its data has a location'${LATER}`,
        reason: 'Forbidden',
      },
      {
        expression: any(
          'oldObject == null',
          '!variables.isNarrowed',
          // A workload that runs and is not narrowed yet.
          all('!variables.becomesScheduled', '!variables.wasNarrowed'),
          '!has(object.spec.clusters)',
          `object.spec.clusters.all(one, ${any(
            'one.name in variables.data',
            all('has(oldObject.spec.clusters)', 'oldObject.spec.clusters.exists(before, before.name == one.name)'),
          )})`,
        ),
        messageExpression: `'the workload is scheduled to clusters without its data, which is in ' + variables.data.join(', ')${LATER}`,
        reason: 'Forbidden',
      },
    ],
  }
}

/**
 * On the binding of a workload that a claim names, without a decision. The API server evaluates the conditions for each claim of the namespace. So
 * they are one expression, which ends with the first part that does not hold. Only the claim of the workload goes on to the validation.
 */
function claimed(): Pick<Spec, 'paramKind' | 'matchConditions' | 'validations'> {
  const { workload, policy } = { workload: 'params.spec.workload', policy: 'params.spec.policy' }
  const resource = 'object.spec.resource'
  const isNot = (field: string, value: string) => any(`!has(${policy}.${field})`, `${policy}.${field} != '${value}'`)
  const becomesScheduledFirst = [
    BECOMES_SCHEDULED,
    any('!has(oldObject.status)', '!has(oldObject.status.lastScheduledTime)'),
    // The taint manager may evict a workload before the scheduler has recorded its time.
    '!has(oldObject.spec.gracefulEvictionTasks)',
  ]
  const isNamed = [
    `${workload}.name == ${resource}.name`,
    `${workload}.kind == ${resource}.kind`,
    any(`!has(${workload}.namespace)`, `${workload}.namespace == request.namespace`),
    `${groupExpression(`${workload}.apiVersion`)} == ${groupExpression(`${resource}.apiVersion`)}`,
  ]
  const isUndecided = [
    `!${isDecided('object')}`,
    `!${isDecided('oldObject')}`,
    // Managed by another controller.
    any('!has(object.metadata.labels)', `!('${MANAGED_BY_LABEL}' in object.metadata.labels)`),
  ]
  const mayHold = [
    '!has(params.metadata.deletionTimestamp)',
    any(
      `!has(${policy})`,
      all(isNot('enforcement', 'Preferred'), isNot('onUnresolved', 'Ignore'), isNot('onUnsatisfiable', 'Ignore')),
    ),
  ]
  const conditions = CONDITIONS.map(({ expression }) => `(${expression})`)
  return {
    paramKind: { apiVersion: apiVersionOf(dataSourceClaims), kind: dataSourceClaims.kind },
    matchConditions: [
      {
        name: 'claimed-workload-is-scheduled-undecided',
        expression: all(...becomesScheduledFirst, ...isNamed, ...isUndecided, ...mayHold, ...conditions),
      },
    ],
    validations: [
      {
        expression: 'false',
        messageExpression: `'DataSourceClaim ' + params.metadata.name + ' names the workload, and Lodestone has not decided on it'${LATER}`,
        reason: 'Forbidden',
      },
    ],
  }
}

/** The end of each message. */
const LATER = ` + '; the write succeeds when Lodestone is available'`

/** The writes that the webhooks decide on. */
const CONDITIONS: NamedExpression[] = [
  NOT_A_SYSTEM_NAMESPACE,
  { name: 'not-being-deleted', expression: '!has(object.metadata.deletionTimestamp)' },
  { name: 'has-a-placement', expression: 'has(object.spec.placement)' },
]

/** Of an update. */
const BECOMES_SCHEDULED = all(hasTarget('object'), `!${hasTarget('oldObject')}`)

function hasTarget(binding: string): string {
  return all(`has(${binding}.spec.clusters)`, `${binding}.spec.clusters.size() > 0`)
}

function isDecided(binding: string): string {
  const annotations = `${binding}.metadata.annotations`
  const keys = [LOCALITY_ANNOTATION, HOLD_ANNOTATION].map((key) => `'${key}' in ${annotations}`)
  return all(`has(${annotations})`, any(...keys))
}

/** The text of an annotation; empty without it. */
function annotation(key: string, binding: string): string {
  const annotations = `${binding}.metadata.annotations`
  return `${all(`has(${annotations})`, `'${key}' in ${annotations}`)} ? ${annotations}['${key}'] : ''`
}

/** Whether the placement must keep to the clusters with the data. If these are many, the annotation has only a digest, and does not tell. */
function narrows(locality: string): string {
  return all(`${locality}.contains('"required":["')`, `!${locality}.contains('"state":"Relaxed"')`)
}

/** Returns an expression: the group of an `apiVersion`, which is empty for `v1`. */
function groupExpression(apiVersion: string): string {
  return `(${apiVersion}.contains('/') ? ${apiVersion}.split('/')[0] : '')`
}

function all(...conditions: string[]): string {
  return `(${conditions.join(' && ')})`
}

function any(...conditions: string[]): string {
  return `(${conditions.join(' || ')})`
}

/** An expression that fails does not reject the write: a defect here, or a CRD that is gone, must not stop Karmada. */
function policy(name: string, spec: Omit<Spec, 'failurePolicy'>): ValidatingAdmissionPolicy {
  const type = validatingAdmissionPolicies
  return {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: { name, labels: REGISTRATION_LABELS },
    spec: { failurePolicy: 'Ignore', ...spec },
  }
}

function policyBinding(
  policyName: string,
  params: Pick<ValidatingAdmissionPolicyBinding['spec'], 'paramRef'>,
): ValidatingAdmissionPolicyBinding {
  const type = validatingAdmissionPolicyBindings
  return {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: { name: policyName, labels: REGISTRATION_LABELS },
    spec: { policyName, ...params, validationActions: ['Deny'] },
  }
}
