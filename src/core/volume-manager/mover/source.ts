/** The source of a mover: its URL, and its credentials by reference to a Secret. */

import type { EnvVar } from '../../../api/pod.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import { withoutTrailingSlashes } from '../../../base/url-encoding.ts'
import { parseRequestHeaders } from '../../../s3/request-headers.ts'
import { isAzureStream } from '../rules/azure-rules.ts'
import { prefixIfDivided } from '../rules/distribution.ts'
import { parseBoolean, parseSourceUrl } from '../rules/options.ts'
import { azureSource } from './azure-source.ts'
import type { MoverSource } from './mover-source.ts'
import { caVariable, endpointsVariable, secretVariable } from './secret-variables.ts'

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
