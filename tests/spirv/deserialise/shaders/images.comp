#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform sampler2D picture;
layout(set = 0, binding = 1) uniform texture2D pixels;
layout(set = 0, binding = 2) uniform sampler how;
layout(set = 0, binding = 3, rgba32f) uniform image2D both;
layout(set = 0, binding = 4) uniform writeonly image3D box;
layout(set = 0, binding = 5, r32ui) uniform uimage1D line;
layout(set = 0, binding = 6) uniform isampler3D volume;

void main() {
    ivec2 place = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(place, imageSize(both)))) return;
    vec2 at = (vec2(place) + 0.5) / vec2(textureSize(picture, 0));
    vec4 sum = textureLod(picture, at, 0.0) + textureLod(sampler2D(pixels, how), at, 0.0);
    sum += texelFetch(picture, place, 0) + imageLoad(both, place);
    sum += vec4(textureLod(volume, vec3(at, 0.5), 0.0));
    imageStore(both, place, sum);
    imageStore(box, ivec3(place, 0), sum);
    imageStore(line, place.x, uvec4(imageLoad(line, place.x).x + 1u));
}
