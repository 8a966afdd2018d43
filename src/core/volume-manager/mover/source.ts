/** What movers are told of each source: where it is, and with which credentials, by reference only. */
import type { EnvVar } from '../../../api/pod.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import { CREDENTIAL_ENDPOINTS_VARIABLE } from '../../mover/contract.ts'
import { parseSourceUrl } from '../spec/options.ts'

export interface MoverSource {
  /** `s3://bucket/key`, ending in a slash for everything below it; for a mover of somebody's own, as it was written. */
  url: string
  endpoint: string | undefined
  /** Undefined where the mover is to ask the server. */
  region: string | undefined
  /** How what came is looked at; undefined for all that can be. */
  verify: string | undefined
  env: EnvVar[]
  /** Where in the volume the data goes. */
  folder?: string
}

/** Where Pachyderm serves S3 in the cluster. */
const PACHYDERM_GATEWAY = 'http://pachd.default.svc:30600'
const PACHYDERM_GATEWAY_PORT = 30600

/** The source of a volume whose data is downloaded; undefined for one that has none to download. */
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
    // Whoever names a mover of their own knows what it reads; ours takes every scheme for S3, as VCK does.
    url: mover?.image === undefined ? `s3://${parsed.bucket}/${parsed.key}` : (options['sourceURL'] ?? ''),
    // Without one it is AWS, which is what the mover takes for granted as well.
    endpoint: options['endpointURL'] || undefined,
    region: options['region'] || undefined,
    verify: options['verify'] || undefined,
    env: secret ? credentials(secret, 'awsAccessKeyID', 'awsSecretAccessKey', { optional: true }) : [],
  }
}

/**
 * Through Pachyderm's S3 gateway: the bucket is `<branch>.<repo>`, and the token is both halves of the credentials. The address of pachd
 * that older manifests have is its gRPC port's; the gateway is on the same host.
 */
function pachydermSource({ options = {} }: VolumeConfig): MoverSource {
  const { repo, branch, inputPath = '', outputPath = '', pachydermServiceAddress } = options
  const secret = options['pachAuthSecretName']
  const host = pachydermServiceAddress?.replace(/:\d+$/, '')
  const endpoint = options['s3GatewayURL'] || (host ? `http://${host}:${PACHYDERM_GATEWAY_PORT}` : PACHYDERM_GATEWAY)
  // Unlike a key of S3, the token itself is in every request: without a word of its Secret it goes to the cluster's own Pachyderm only.
  const mayGo = endpoint === PACHYDERM_GATEWAY ? { optional: true as const } : {}
  return {
    url: `s3://${branch}.${repo}/${inputPath.replace(/^\/+/, '')}`,
    endpoint,
    region: options['region'] || undefined,
    verify: options['verify'] || undefined,
    env: secret ? credentials(secret, 'pachAuthToken', 'pachAuthToken', mayGo) : [],
    folder: outputPath.replace(/\/+$/, ''),
  }
}

/** The Secret itself says to which endpoints its credentials may be sent; without a word, to that of the VolumeManager. */
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
