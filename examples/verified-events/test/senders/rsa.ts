import { createSign, generateKeyPairSync } from "node:crypto";

/*
 * A self-signed certificate that is valid until 2126, made with `openssl req -x509 -newkey rsa:2048`, in place of those of
 * Amazon, Google and PayPal. The key protects nothing: it is public here.
 */

export const privateKey = `-----BEGIN PRIVATE KEY-----
MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCt7jz1vCojqdfX
eTFiSDdIrKvud4qvvXA9hXs44zKLG3A/AdvuQeGqCC6WXqiZz+e3VeWE/1fgzowv
GzlNK3/ngDLRV4IA/zKWUI7IXBMZA8Y3uUEh4c8UuaUlW95BRAMRbSgVUbYjslzs
t+9Jnxx+W9DtQvVgg+Bt5xUj3IarLcKHV12IW/U+tDQo+VahlK4g8p78e9K3Ww4j
crD3+ywQPLskQM8uNDPmfF+R99/Kz8IJ1ASyvs3OMHk1t5gElUNa0yk8UR/dXQw9
7IxS6HxOUfqia3DfYC8LOEkPnOftq0YTtOPcZjK4zZK0q5waiSOh57fgFgcuFm/9
XojoCxPDAgMBAAECggEAJptSFq2coOvrSB3Tk2A6PTxusXEBbL7c8hr13gu4RV5i
zOmJutoO0CIezSvXusSGR5CecKYJCJJwVWhykKmOK4GuRf9pkPUUcn8RInIlnxDS
Z74MMgwgXhZTDPbWX6BMGgsjsY/AoS3PKJAvYiUaOwYAWxnYw4KiR2Las2oYzlft
LFmF8tbrjmDhYEkNMZwHPWEGCCRHvbTtbMQ40kxOwPxvaAad3G5kGzU5BH8K8sCS
DxAzhKQrYHrVZPyR+8rvuVlD3rTjonfHC+R32R7x6TAF0qBXm0vKL2ty3/pmzRTa
PN8u06yd2jTOkKSNcU2/D94E8GyLoopOfXZ5Wz+I+QKBgQDbrhR7pMMT/JqhubBc
A+eAQtgiiNb3nOZtg4c016xJwbpkD1rW/kBqqEWpUL6xNFJa0IntGDWsJPeOmI8H
UfPcEYV0IknIvK0mISfEr4BvBQaTQaVbAdiV83mMsI3XveQJMREHKzEzYcVmhVHl
le+GFGFsJOrkFZzV5xJXlsAuzQKBgQDKr9KwZY/K1TrsvtIzZLmbKZPD5bEkNMnI
UFjq068BC6IHCYeOuItm8mmsEgYsvmAtEYNYpixsmZvs/ijz8eErhKCFN7iQqtM+
lYAZUYanjJdJaiIRFcQuDqc8tPxTOh1N/twucCOQ5bA4nnIDtLXEGXso3Iap91a4
zMX1EQIszwKBgGUSpffxaZPjkB3CuqLLZRL9LkZNYWKRvO88KdQlOu7AhIqPCgOK
/YZVH5/0N5h+czm3Yw5EKkWmyIPCK2R5z1I8eYNiV0JVlPDLJmn3OYda75iHBpZl
tgnf+NfDT6+ofafA/I2o0L1MSa+OvYx9PLQa4mwIXE5Op1c/NpA4GvotAoGALVn6
Ao43BmN/s8lerzEydo1vCr4yTK+jFrcjrid/WPSJZJm1QzH3vykui9ncl9ZhHrR0
dzl3ZzVXtkeIUk0k3N/oKua03Wnbqn05FHExd/v1PfAJf1kndEbDFMpKSzUNqY4F
Jj7hNmKuc3zAdiPRJ/ernxD48L7vIJpxEMyld/ECgYEAl/KIwkI6wK3JqURJiClW
6EXc7xWcZhdMEat381cPaRkKrY1eGEWi7W6hwBxUfC9kh8msEzRlsVf+XbeTsUKB
o6YfkJeJMqBn9TamdCcng79SbBGrVxtkXWEH0gysm2Mxm3X0UISI3iPr0Ce3lzRl
aGE12jE7gYi/DkPvWsftsnQ=
-----END PRIVATE KEY-----`;

export const certificate = `-----BEGIN CERTIFICATE-----
MIIDGzCCAgOgAwIBAgIUTpAfm83d9M8NmjvUBKMo7Y6zL9MwDQYJKoZIhvcNAQEL
BQAwHDEaMBgGA1UEAwwRc3ZjLXdlYmhvb2tzIHRlc3QwIBcNMjYxMTMwMTgzMDEw
WhgPMjEyNjEyMDExODMwMTBaMBwxGjAYBgNVBAMMEXN2Yy13ZWJob29rcyB0ZXN0
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAre489bwqI6nX13kxYkg3
SKyr7neKr71wPYV7OOMyixtwPwHb7kHhqggull6omc/nt1XlhP9X4M6MLxs5TSt/
54Ay0VeCAP8yllCOyFwTGQPGN7lBIeHPFLmlJVveQUQDEW0oFVG2I7Jc7LfvSZ8c
flvQ7UL1YIPgbecVI9yGqy3Ch1ddiFv1PrQ0KPlWoZSuIPKe/HvSt1sOI3Kw9/ss
EDy7JEDPLjQz5nxfkfffys/CCdQEsr7NzjB5NbeYBJVDWtMpPFEf3V0MPeyMUuh8
TlH6omtw32AvCzhJD5zn7atGE7Tj3GYyuM2StKucGokjoee34BYHLhZv/V6I6AsT
wwIDAQABo1MwUTAdBgNVHQ4EFgQU5L/eOK9y+h2em470ha9zSOlDpxEwHwYDVR0j
BBgwFoAU5L/eOK9y+h2em470ha9zSOlDpxEwDwYDVR0TAQH/BAUwAwEB/zANBgkq
hkiG9w0BAQsFAAOCAQEANUFrCLT1Gf1t5tboFQ/bPnwbqybzKIYXSBmsR7Z92Ce0
w8MFLTZdJ8GxMqV/gKBHHxjcJ6MguRLR0nDkuypV9Ukdr9/dquJe1hbZPX1/zdcc
2Ho0m1JwNZmhn9jQeSY2ggMpUigxgsOgqMBhtOS54JBjTkbW7rbuFA5TNqEUddK1
S4PsN1Vmf7kh/NUiI787YG1oGBYSXKXeoBfBEfQWvb32AUnHe4XiEMz5MhG4YlZD
YyNmssB4ttNFu1yJgDae1ha/wxUY0HZse8cowtoIuFsGBTsP/R8qCYn5HtkEO2zd
E1O1jF5DichgAytvHM2g/FTSi9/x9M0rO0ryWMNP/g==
-----END CERTIFICATE-----`;

/** A private key that does not belong to the certificate. */
export const otherKey: string = generateKeyPairSync("rsa", { modulusLength: 2048 })
  .privateKey.export({ type: "pkcs8", format: "pem" })
  .toString();

/** Signs a text with RSA and SHA-256. */
export const rsaSign = (text: string, key: string, encoding: "base64" | "base64url"): string =>
  createSign("RSA-SHA256").update(text).sign(key, encoding);
