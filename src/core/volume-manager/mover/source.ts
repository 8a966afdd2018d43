/** The source of a mover: its URL, and its credentials by reference to a Secret. */
import type { EnvVar } from '../../../api/pod.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import { CREDENTIAL_ENDPOINTS_VARIABLE } from '../../mover/contract.ts'
import { parseSourceUrl } from '../spec/options.ts'

export interface MoverSource {
  /** `s3://bucket/key`; a prefix ends in a slash. For another mover image, it is the URL in the spec. */
  url: string
  endpoint: string | undefined
  /** Undefined when the mover reads it from the server. */
  region: string | undefined
  /** How the mover verifies the data; undefined for the default, by checksum. */
  verify: string | undefined
  env: EnvVar[]
  /** The directory of the data in the volume. */
  folder?: string
}

/** The default address of Pachyderm's S3 gateway. */
const PACHYDERM_GATEWAY = 'http://pachd.default.svc:30600'
const PACHYDERM_GATEWAY_PORT = 30600

/** The source of a volume whose data is downloaded; undefined for a volume without a download. */
export function moverSourceOf(config: VolumeConfig): MoverSource | undefined {
  switch (config.sourceType) {
    case 'S3':
    case 'S3-Dev':
    case 'Stream':
      return s3Source(config)
    case 'Pachyderm':
      return pachydermSource(config)
    default:
      return undefined
  }
}

function s3Source({ options = {}, mover }: VolumeConfig): MoverSource | undefined {
  const parsed = parseSourceUrl(options['sourceURL'] ?? '')
  if (!parsed) return undefined
  const secret = options['awsCredentialsSecretName']
  return {
    // A user who names another image knows which URLs it reads. Lodestone's mover reads every scheme as S3, as VCK does.
    url: mover?.image === undefined ? `s3://${parsed.bucket}/${parsed.key}` : (options['sourceURL'] ?? ''),
    // Without an endpoint, the mover uses AWS.
    endpoint: options['endpointURL'] || undefined,
    region: options['region'] || undefined,
    verify: options['verify'] || undefined,
    env: secret ? credentials(secret, 'awsAccessKeyID', 'awsSecretAccessKey', { optional: true }) : [],
  }
}

/**
 * The source in Pachyderm's S3 gateway. The bucket is `<branch>.<repo>`, and the token is both the key ID and the secret key. Older
 * manifests have the address of pachd's gRPC port; the gateway is on the same host.
 */
function pachydermSource({ options = {} }: VolumeConfig): MoverSource {
  const { repo, branch, inputPath = '', outputPath = '', pachydermServiceAddress } = options
  const secret = options['pachAuthSecretName']
  const host = pachydermServiceAddress?.replace(/:\d+$/, '')
  const endpoint = options['s3GatewayURL'] || (host ? `http://${host}:${PACHYDERM_GATEWAY_PORT}` : PACHYDERM_GATEWAY)
  // Each request contains the token itself, unlike an S3 secret key. So the Secret must list the endpoint, unless it is the default
  // gateway.
  const endpoints = endpoint === PACHYDERM_GATEWAY ? { optional: true as const } : {}
  return {
    url: `s3://${branch}.${repo}/${inputPath.replace(/^\/+/, '')}`,
    endpoint,
    region: options['region'] || undefined,
    verify: options['verify'] || undefined,
    env: secret ? credentials(secret, 'pachAuthToken', 'pachAuthToken', endpoints) : [],
    folder: outputPath.replace(/\/+$/, ''),
  }
}

/** The key of a Secret with the endpoints to which its credentials may be sent. Without it, they may be sent to any endpoint. */
const ENDPOINTS_KEY = 'endpoints'

function credentials(secret: string, idKey: string, secretKey: string, endpoints: { optional?: true }): EnvVar[] {
  const from = (name: string, key: string, more = {}): EnvVar => ({
    name,
    valueFrom: { secretKeyRef: { name: secret, key, ...more } },
  })
  return [
    from('AWS_ACCESS_KEY_ID', idKey),
    from('AWS_SECRET_ACCESS_KEY', secretKey),
    from(CREDENTIAL_ENDPOINTS_VARIABLE, ENDPOINTS_KEY, endpoints),
  ]
}
