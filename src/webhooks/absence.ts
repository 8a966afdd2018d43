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
import { ENFORCE_CLAIMS, ENFORCE_LABEL, HOLD_ANNOTATION, LOCALITY_ANNOTATION } from '../api/lodestone.ts'
import { apiVersionOf, type LabelSelectorRequirement } from '../api/meta.ts'
import { REGISTRATION_LABELS } from '../api/registration.ts'
import { NOT_A_SYSTEM_NAMESPACE, notExcluded, type Registration } from './registration.ts'

type Spec = ValidatingAdmissionPolicy['spec']

/** Returns the policies for bindings. They skip the namespaces that the webhooks skip. */
export function absencePolicies(registration: Pick<Registration, 'excludedNamespaces'>): ValidatingAdmissionPolicy[] {
  const constraints = (
    types: readonly { plural: string }[],
    operations: ('CREATE' | 'UPDATE')[],
    scope: 'Namespaced' | '*',
    chosen: LabelSelectorRequirement[] = [],
  ): Spec['matchConstraints'] => ({
    matchPolicy: 'Equivalent',
    namespaceSelector: { matchExpressions: [...notExcluded(registration), ...chosen] },
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
      matchConstraints: constraints([clusterResourceBindings, resourceBindings], ['CREATE', 'UPDATE'], '*'),
      ...decided(),
    }),
    policy(CLAIMED_WORKLOADS_POLICY, {
      matchConstraints: constraints([resourceBindings], ['UPDATE'], 'Namespaced', CHOSEN),
      ...claimed(),
    }),
  ]
}

/** The cost of this policy grows with the claims of the namespace, so the namespace chooses it. */
const CHOSEN = [{ key: ENFORCE_LABEL, operator: 'In', values: [ENFORCE_CLAIMS] }]

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

/** On the binding of a workload that a claim names, without a decision. The API server evaluates this for each claim of the namespace. */
function claimed(): Pick<Spec, 'paramKind' | 'matchConditions' | 'variables' | 'validations'> {
  return {
    paramKind: { apiVersion: apiVersionOf(dataSourceClaims), kind: dataSourceClaims.kind },
    matchConditions: [
      ...CONDITIONS,
      { name: 'becomes-scheduled', expression: BECOMES_SCHEDULED },
      {
        name: 'never-scheduled-before',
        expression: any('!has(oldObject.status)', '!has(oldObject.status.lastScheduledTime)'),
      },
      {
        name: 'lodestone-has-not-decided',
        expression: all(`!${isDecided('object')}`, `!${isDecided('oldObject')}`),
      },
      {
        name: 'not-managed-by-another-controller',
        expression: any('!has(object.metadata.labels)', `!('${MANAGED_BY_LABEL}' in object.metadata.labels)`),
      },
    ],
    variables: [
      { name: 'workload', expression: 'params.spec.workload' },
      {
        name: 'isNamed',
        expression: all(
          'variables.workload.kind == object.spec.resource.kind',
          'variables.workload.name == object.spec.resource.name',
          any('!has(variables.workload.namespace)', 'variables.workload.namespace == request.namespace'),
          `${groupOf('variables.workload.apiVersion')} == ${groupOf('object.spec.resource.apiVersion')}`,
        ),
      },
      {
        name: 'mayHold',
        expression: all(
          '!has(params.metadata.deletionTimestamp)',
          any(
            '!has(params.spec.policy)',
            all(isNot('enforcement', 'Preferred'), isNot('onUnresolved', 'Ignore'), isNot('onUnsatisfiable', 'Ignore')),
          ),
        ),
      },
    ],
    validations: [
      {
        expression: any('!variables.isNamed', '!variables.mayHold'),
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

function isNot(field: string, value: string): string {
  return any(`!has(params.spec.policy.${field})`, `params.spec.policy.${field} != '${value}'`)
}

/** The group of an `apiVersion`, which is empty for `v1`. */
function groupOf(apiVersion: string): string {
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
