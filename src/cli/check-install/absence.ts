/** Checks the policies of the API server that keep workloads to their data while Lodestone is not available. */
import { isDeepStrictEqual } from 'node:util'
import {
  type ValidatingAdmissionPolicy,
  type ValidatingAdmissionPolicyBinding,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from '../../api/admission-policy.ts'
import type { Config } from '../../app/config/config.ts'
import { storedExemptNamespaces, wantedAbsencePolicies } from '../../app/registration.ts'
import { defined } from '../../base/json.ts'
import { describeExempt } from '../../core/admission/exempt-namespaces.ts'
import { readObject } from '../../store/cluster/object-writer.ts'
import { openServerInfo } from '../../store/cluster/server-info.ts'
import { type Check, type Finding, passed, type ReadContext, skipped, warning } from './check.ts'

const APPLY = 'apply them: lodestone manifests absence | kubectl apply -f -'

export const absence: Check<ReadContext> = {
  name: 'absence',
  async run({ connection, config }) {
    const { bindingSchemas, version } = await openServerInfo(connection)()
    if (bindingSchemas === undefined) return skipped('no ResourceBindings: this is not a Karmada hub')
    const installed = await Promise.all(
      wantedAbsencePolicies(config).map(async (wanted) => {
        const { name = '' } = wanted.metadata
        const policy = await readObject(connection, validatingAdmissionPolicies, undefined, name)
        const binding = await readObject(connection, validatingAdmissionPolicyBindings, undefined, name)
        return { wanted, ...defined({ policy, binding }) }
      }),
    )
    const finding = judgePolicies(installed, config)
    return finding.result === 'warning' && isBefore130(version)
      ? skipped(`ValidatingAdmissionPolicies need Kubernetes 1.30; this is ${version}`)
      : finding
  },
}

export interface InstalledPolicy {
  wanted: ValidatingAdmissionPolicy
  policy?: ValidatingAdmissionPolicy
  binding?: ValidatingAdmissionPolicyBinding
}

/** Judges the policies, and names the namespaces that are exempt from one of them. */
export function judgePolicies(installed: readonly InstalledPolicy[], config: Config): Finding {
  const problems = installed.flatMap((one) => policyProblem(one) ?? [])
  if (problems.length > 0) {
    return warning(`workloads may leave their data while Lodestone is not available: ${problems.join('; ')}`, APPLY)
  }
  const exempt = storedExemptNamespaces(
    installed.flatMap(({ policy }) => policy ?? []),
    config,
  )
  const more = exempt.length > 0 ? `; ${describeExempt(exempt)}` : ''
  return passed(`workloads keep to their data while Lodestone is not available${more}`)
}

function policyProblem({ wanted, policy, binding }: InstalledPolicy): string | undefined {
  const { name } = wanted.metadata
  if (!policy) return `ValidatingAdmissionPolicy ${name} is missing`
  if (!hasRulesOf(policy, wanted)) return `${name} differs from that of this version`
  if (!binding) return `ValidatingAdmissionPolicyBinding ${name} is missing`
  return binding.spec?.validationActions?.includes('Deny') ? undefined : `the validationActions of ${name} lack Deny`
}

/** Without the namespaces, of which some are exempt. */
function hasRulesOf({ spec }: ValidatingAdmissionPolicy, wanted: ValidatingAdmissionPolicy): boolean {
  return (['matchConditions', 'validations'] as const).every((field) =>
    isDeepStrictEqual(spec?.[field], wanted.spec[field]),
  )
}

function isBefore130(version: string): boolean {
  const [, minor] = /^v?1\.(\d+)/.exec(version) ?? []
  return minor !== undefined && Number(minor) < 30
}
