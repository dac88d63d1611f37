<?php
// PHP in the manner of tutorials that verify the raw body.

function handle(string $body): void
{
    $context = stream_context_create([
        'http' => ['method' => 'POST', 'content' => $body, 'header' => 'Content-Type: application/json'],
    ]);
    if (@file_get_contents(getenv('HANDLER_URL'), false, $context) === false) {
        throw new RuntimeException('the handler has failed');
    }
}

$body = file_get_contents('php://input');
$expected = 'sha256=' . hash_hmac('sha256', $body, getenv('WEBHOOK_SECRET'));
if (!hash_equals($expected, $_SERVER['HTTP_X_SVC_SIGNATURE'] ?? '')) {
    http_response_code(401);
    exit();
}

$event = json_decode($body, true);
if ($event['type'] === 'email.sent') {
    handle($body);
}
http_response_code(200);
