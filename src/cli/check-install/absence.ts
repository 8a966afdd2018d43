/** Checks the policies of the API server that keep workloads to their data while Lodestone is not available. */
import { isDeepStrictEqual } from 'node:util'
import { validatingAdmissionPolicies, validatingAdmissionPolicyBindings } from '../../api/admission-policy.ts'
import { wantedAbsencePolicies } from '../../app/registration.ts'
import { readObject } from '../../store/cluster/object-writer.ts'
import { openServerInfo } from '../../store/cluster/server-info.ts'
import { type Check, type CheckContext, passed, skipped, warning } from './check.ts'

const APPLY = 'apply them: lodestone manifests absence | kubectl apply -f -'

export const absence: Check = {
  name: 'absence',
  async run(context) {
    const { bindingSchemas, version } = await openServerInfo(context.connection)()
    if (bindingSchemas === undefined) return skipped('no ResourceBindings: this is not a Karmada hub')
    const problems = await Promise.all(
      wantedAbsencePolicies(context.config).map((wanted) => problemOf(wanted, context)),
    )
    const found = problems.filter((problem) => problem !== undefined)
    if (found.length === 0) return passed('workloads keep to their data while Lodestone is not available')
    if (isBefore130(version)) return skipped(`ValidatingAdmissionPolicies need Kubernetes 1.30; this is ${version}`)
    return warning(`workloads may leave their data while Lodestone is not available: ${found.join('; ')}`, APPLY)
  },
}

async function problemOf(
  wanted: ReturnType<typeof wantedAbsencePolicies>[number],
  { connection }: CheckContext,
): Promise<string | undefined> {
  const name = wanted.metadata.name ?? ''
  const policy = await readObject(connection, validatingAdmissionPolicies, undefined, name)
  if (!policy) return `ValidatingAdmissionPolicy ${name} is missing`
  if (!isDeepStrictEqual(policy.spec?.validations, wanted.spec.validations))
    return `${name} differs from that of this version`
  const binding = await readObject(connection, validatingAdmissionPolicyBindings, undefined, name)
  if (!binding) return `ValidatingAdmissionPolicyBinding ${name} is missing`
  return binding.spec?.validationActions?.includes('Deny') ? undefined : `the validationActions of ${name} lack Deny`
}

function isBefore130(version: string): boolean {
  const [, minor] = /^v?1\.(\d+)/.exec(version) ?? []
  return minor !== undefined && Number(minor) < 30
}
