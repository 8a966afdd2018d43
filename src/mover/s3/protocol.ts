/** The protocol S3, for AWS and for servers that are compatible with it. */

import { defined } from '../../base/json.ts'
import type { ObjectPlace } from '../../base/objects.ts'
import { AWS_ENDPOINT, isBucketName } from '../../s3/address.ts'
import { roleSourceOf } from '../../s3/role.ts'
import type { HttpClient } from '../http/client.ts'
import { MoverError } from '../mover-error.ts'
import type { Protocol, ServerOptions } from '../objects/object-store.ts'
import { type CredentialSource, credentialsFromDirectory, keysOfEnvironment } from './credentials.ts'
import { roleCredentials } from './role-credentials.ts'
import { openBucket } from './s3.ts'
import { createS3Store } from './store.ts'

export const S3_PROTOCOL: Protocol = {
  forms: 's3://bucket/key, or s3://bucket/prefix/ for all below it',
  defaultEndpoint: AWS_ENDPOINT,
  parse: parseS3Url,
  async open(server, http, signal) {
    const { place, endpoint, region, pathStyle, headers, retry, now } = server
    const options = defined({
      endpoint,
      bucket: place.container,
      region,
      pathStyle,
      credentials: credentialsFor(server, http, signal),
      headers,
      retry,
      now,
    })
    return createS3Store(await openBucket(options, http, signal), server.trustsEtags)
  },
}

/** The keys of a Secret, else those of a role; without both, requests are anonymous. */
function credentialsFor(server: ServerOptions, http: HttpClient, signal: AbortSignal): CredentialSource {
  const { credentials, endpoint, env, agentHttp, retry, now } = server
  if (credentials !== undefined) return credentialsFromDirectory(credentials, endpoint)
  const keys = keysOfEnvironment(env, endpoint)
  if (keys !== undefined) return keys
  const source = roleSourceOf(env)
  if (source === undefined) return async () => undefined
  if ('fault' in source) throw new MoverError('Rejected', source.fault)
  return roleCredentials(source, { http, agentHttp, retry, now, signal })
}

/** Parses an S3 URL; undefined for any other text. A URL with only a bucket includes all of its objects. */
export function parseS3Url(url: string): ObjectPlace | undefined {
  const [, bucket = '', key = ''] = /^s3:\/\/([^/]*)(?:\/(.*))?$/is.exec(url) ?? []
  if (!isBucketName(bucket)) return undefined
  const recursive = key === '' || key.endsWith('/')
  // VCK's globs are those of `mc find --path`, which match the whole path with the alias of the server.
  return { url: `s3://${bucket}/${key}`, container: bucket, globRoot: `s3/${bucket}/`, key, recursive }
}
