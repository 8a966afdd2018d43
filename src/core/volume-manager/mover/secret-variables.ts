/** Environment variables of a mover that come from a Secret of the user. */
import type { EnvVar } from '../../../api/pod.ts'
import { CA_VARIABLE, CREDENTIAL_ENDPOINTS_VARIABLE } from '../../mover-contract/contract.ts'

/** The key of a Secret with the endpoints to which its credentials may be sent. */
const ENDPOINTS_KEY = 'endpoints'

/** The key of a Secret with the certificates of a private CA, as in Secrets of type kubernetes.io/tls. */
const CA_KEY = 'ca.crt'

/** A variable with the value of a key. The kubelet does not start a mover whose Secret lacks a key that is not optional. */
export function secretVariable(name: string, secret: string, key: string, more: { optional?: true } = {}): EnvVar {
  return { name, valueFrom: { secretKeyRef: { name: secret, key, ...more } } }
}

/** The variable with the endpoints to which the credentials of a Secret may be sent. */
export function endpointsVariable(secret: string, more: { optional?: true } = {}): EnvVar {
  return secretVariable(CREDENTIAL_ENDPOINTS_VARIABLE, secret, ENDPOINTS_KEY, more)
}

/** The variable with the certificates that the mover trusts. */
export function caVariable(secret: string): EnvVar {
  return secretVariable(CA_VARIABLE, secret, CA_KEY, { optional: true })
}
