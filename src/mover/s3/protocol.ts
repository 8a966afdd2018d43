/** The protocol S3, for AWS and for servers that are compatible with it. */
import { AWS_ENDPOINT } from '../../core/s3/address.ts'
import { parseS3Url } from '../../core/s3/place.ts'
import type { Protocol } from '../objects/object-store.ts'
import { credentialsFromDirectory, credentialsFromEnvironment } from './credentials.ts'
import { openBucket } from './s3.ts'
import { createS3Store } from './store.ts'

export const S3_PROTOCOL: Protocol = {
  forms: 's3://bucket/key, or s3://bucket/prefix/ for all below it',
  defaultEndpoint: AWS_ENDPOINT,
  parse: parseS3Url,
  async open({ place, endpoint, region, pathStyle, headers, credentials, env, retry, now }, http, signal) {
    const options = {
      endpoint,
      bucket: place.container,
      ...(region !== undefined && { region }),
      ...(pathStyle !== undefined && { pathStyle }),
      credentials:
        credentials === undefined
          ? credentialsFromEnvironment(env, endpoint)
          : credentialsFromDirectory(credentials, endpoint),
      headers,
      retry,
      now,
    }
    return createS3Store(await openBucket(options, http, signal))
  },
}
