/** The source of a mover: its URL, its server, and its credentials as variables from a Secret of the user. */
import type { EnvVar } from '../../../api/pod.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import { azureUrl, parseBlobUrl } from '../../../base/net/azure-address.ts'
import { withoutTrailingSlashes } from '../../../base/net/url-encoding.ts'
import { parseRequestHeaders } from '../../../s3/request-headers.ts'
import { CA_VARIABLE, CREDENTIAL_ENDPOINTS_VARIABLE } from '../../mover-contract/contract.ts'
import { isAzureStream } from '../rules/azure-rules.ts'
import { prefixIfDivided } from '../rules/distribution.ts'
import { parseBoolean, parseSourceUrl } from '../rules/options.ts'

/** The default address of Pachyderm's S3 gateway. */
const PACHYDERM_GATEWAY = 'http://pachd.default.svc:30600'
const PACHYDERM_GATEWAY_PORT = 30600

/** The keys of VCK's Secrets. The session token is an addition of Lodestone. */
const AWS_KEYS = ['awsAccessKeyID', 'awsSecretAccessKey', 'awsSessionToken'] as const

/** The sources by type. A type without an entry has no download. */
const SOURCES: Readonly<Record<string, (config: VolumeConfig) => MoverSource | undefined>> = {
  S3: s3Source,
  'S3-Dev': s3Source,
  Stream: (config) => (isAzureStream(config) ? azureSource(config) : s3Source(config)),
  Pachyderm: pachydermSource,
  AzureBlob: azureSource,
}

/** The source of a volume whose data is downloaded; undefined for a volume without a download. */
export function moverSourceOf(config: VolumeConfig): MoverSource | undefined {
  return Object.hasOwn(SOURCES, config.sourceType) ? SOURCES[config.sourceType]?.(config) : undefined
}

function s3Source(config: VolumeConfig): MoverSource | undefined {
  const { options = {}, mover } = config
  const parsed = parseSourceUrl(options['sourceURL'] ?? '')
  if (!parsed) return undefined
  const secret = options['awsCredentialsSecretName']
  return {
    // A user who names another image knows which URLs it reads. Lodestone's mover reads every scheme as S3, as VCK does.
    url:
      mover?.image === undefined
        ? prefixIfDivided(`s3://${parsed.bucket}/${parsed.key}`, config)
        : (options['sourceURL'] ?? ''),
    // Without an endpoint, the mover uses AWS.
    endpoint: options['endpointURL'] || undefined,
    region: options['region'] || undefined,
    verify: options['verify'] || undefined,
    env: secret ? credentials(secret, AWS_KEYS, { optional: true }) : [],
    requests: requestOptions(config),
  }
}

/**
 * The source in Pachyderm's S3 gateway. The bucket is `<branch>.<repo>`, and the token is both the key ID and the secret key. Older
 * manifests have the address of pachd's gRPC port; the gateway is on the same host.
 */
function pachydermSource(config: VolumeConfig): MoverSource {
  const { options = {} } = config
  const { repo, branch, inputPath = '', outputPath = '', pachydermServiceAddress } = options
  const secret = options['pachAuthSecretName']
  const host = pachydermServiceAddress?.replace(/:\d+$/, '')
  const endpoint = options['s3GatewayURL'] || (host ? `http://${host}:${PACHYDERM_GATEWAY_PORT}` : PACHYDERM_GATEWAY)
  // Each request contains the token itself, unlike an S3 secret key. So the Secret must list the endpoint, unless it is the default
  // gateway.
  const endpoints = endpoint === PACHYDERM_GATEWAY ? { optional: true as const } : {}
  return {
    url: prefixIfDivided(`s3://${branch}.${repo}/${inputPath.replace(/^\/+/, '')}`, config),
    endpoint,
    region: options['region'] || undefined,
    verify: options['verify'] || undefined,
    env: secret ? credentials(secret, ['pachAuthToken', 'pachAuthToken'], endpoints) : [],
    requests: requestOptions(config),
    folder: withoutTrailingSlashes(outputPath),
  }
}

/** The options of S3 servers that need other requests than AWS. */
function requestOptions({ options = {} }: VolumeConfig): string[] {
  const { pathStyle = '', requesterPays = '', requestHeaders } = options
  const isPathStyle = parseBoolean(pathStyle)
  const parsed = requestHeaders ? parseRequestHeaders(requestHeaders) : { headers: {} }
  const headers = 'headers' in parsed ? Object.entries(parsed.headers) : []
  return [
    ...(isPathStyle === undefined ? [] : ['--path-style', String(isPathStyle)]),
    ...(parseBoolean(requesterPays) ? ['--requester-pays', 'true'] : []),
    ...headers.flatMap(([name, value]) => ['--header', `${name}:${value}`]),
  ]
}

/** @param tokenKey the key of the session token, which only temporary credentials have */
function credentials(
  secret: string,
  [idKey, secretKey, tokenKey]: readonly [string, string, string?],
  endpoints: { optional?: true },
): EnvVar[] {
  return [
    secretVariable('AWS_ACCESS_KEY_ID', secret, idKey),
    secretVariable('AWS_SECRET_ACCESS_KEY', secret, secretKey),
    ...(tokenKey ? [secretVariable('AWS_SESSION_TOKEN', secret, tokenKey, { optional: true })] : []),
    // A Secret without the key may be used for any endpoint.
    endpointsVariable(secret, endpoints),
    caVariable(secret),
  ]
}

/**
 * The source of a volume. The Secret has the keys of the Blob CSI driver. The name of the account is required; the mover checks that there is
 * a SAS token or a key.
 */
export function azureSource(config: VolumeConfig): MoverSource | undefined {
  const { options = {}, mover } = config
  const { sourceURL = '', endpointURL, azureCredentialsSecretName: secret, verify } = options
  const parsed = parseBlobUrl(sourceURL, endpointURL)
  if (!parsed) return undefined
  const optional = { optional: true } as const
  return {
    // A mover of another image gets the URL as the user wrote it.
    url: mover?.image === undefined ? prefixIfDivided(azureUrl(parsed), config) : sourceURL,
    endpoint: parsed.endpoint,
    region: undefined,
    verify: verify || undefined,
    env: secret
      ? [
          secretVariable('AZURE_STORAGE_ACCOUNT', secret, 'azurestorageaccountname'),
          secretVariable('AZURE_STORAGE_SAS_TOKEN', secret, 'azurestorageaccountsastoken', optional),
          secretVariable('AZURE_STORAGE_KEY', secret, 'azurestorageaccountkey', optional),
          endpointsVariable(secret, optional),
          caVariable(secret),
        ]
      : [],
    requests: [],
  }
}

export interface MoverSource {
  /** `s3://bucket/key` or `az://container/key`; a prefix ends in a slash. For another mover image, it is the URL in the spec. */
  url: string
  endpoint: string | undefined
  /** Undefined when the mover reads it from the server. */
  region: string | undefined
  /** How the mover verifies the data; undefined for the default, by checksum. */
  verify: string | undefined
  env: EnvVar[]
  /** Further options of the mover about requests to the server. */
  requests: string[]
  /** The directory of the data in the volume. */
  folder?: string
}

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
function caVariable(secret: string): EnvVar {
  return secretVariable(CA_VARIABLE, secret, CA_KEY, { optional: true })
}
