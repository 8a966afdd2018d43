/** The option `--service-account`: the account of Lodestone on an API server. */
import { LODESTONE } from '../../app/roles/rbac.ts'
import { type Arguments, UsageError } from '../command.ts'

export interface ServiceAccountName {
  namespace: string
  name: string
}

export const SERVICE_ACCOUNT_OPTION = {
  'service-account': {
    type: 'string',
    value: 'NAMESPACE/NAME',
    description: `Account of Lodestone on this API server (default: ${LODESTONE.namespace}/${LODESTONE.name})`,
  },
} as const

/** Returns the account of the option, or that of the manifests. Throws `UsageError` for another form. */
export function readServiceAccount(args: Arguments): ServiceAccountName {
  const text = args.text('service-account')
  if (text === undefined) return LODESTONE
  const [namespace, name, ...more] = text.split('/')
  if (!namespace || !name || more.length > 0) {
    throw new UsageError(`--service-account takes NAMESPACE/NAME, e.g. lodestone-system/lodestone, not ${text}`)
  }
  return { namespace, name }
}
